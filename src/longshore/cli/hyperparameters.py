"""The hyperparameters of learners and networks, read from their source: the command line shows them all without JAX.

A hyperparameter is a field of a frozen dataclass with a line of help under it. To import the dataclass would import all
that it learns with, a second of waiting for a help text.
"""

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from longshore.core.words.errors import LongshoreError
from longshore.core.words.registry import Registry


class Hyperparameter(NamedTuple):
    """One field."""

    name: str
    kind: str
    """Its type as the source writes it."""
    default: Any
    help: str

    @property
    def flag(self) -> str:
        """As the command line spells it, without the dashes."""
        return self.name.replace("_", "-")


def first_line(registry: Registry, name: str) -> str:
    """Return the first line of a unit's file."""
    text = ast.get_docstring(_tree(_module(registry, name))) or ""
    return text.splitlines()[0] if text else ""


def hyperparameters(registry: Registry, name: str) -> tuple[Hyperparameter, ...]:
    """Return the fields of a learner or a network, those of the classes that it builds on first.

    Raises:
        UnknownNameError: there is no such unit.
    """
    module, _, attribute = registry.target(name).partition(":")
    return tuple(_fields(module, attribute).values())


def _module(registry: Registry, name: str) -> str:
    return registry.target(name).partition(":")[0]


def _fields(module: str, class_name: str) -> dict[str, Hyperparameter]:
    tree = _tree(module)
    found: dict[str, Hyperparameter] = {}
    body = _class_body(tree, module, class_name, found)
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.value is None or ast.unparse(statement.annotation).startswith("ClassVar"):
            continue
        name = statement.target.id
        found[name] = Hyperparameter(
            name, ast.unparse(statement.annotation), ast.literal_eval(statement.value), _text(following)
        )
    return found


def _class_body(tree: ast.Module, module: str, class_name: str, inherited: dict[str, Hyperparameter]) -> list[ast.stmt]:
    origin = {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == class_name:
            for base in statement.bases:
                if isinstance(base, ast.Name):
                    inherited |= _fields(*origin.get(base.id, (module, base.id)))
            return statement.body
    return []


def _text(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""


@cache
def _tree(module: str) -> ast.Module:
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise LongshoreError(f"the module `{module}` is not installed", "repair or remove the package that adds it")
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
