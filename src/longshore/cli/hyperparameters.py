"""The hyperparameters of learners and networks, read from their source: the command line shows them all without JAX.

A hyperparameter is a field of a frozen dataclass with a line of help under it. To import the dataclass would import all
that it learns with, a second of waiting for a help text.
"""

import ast
import importlib.util
import itertools
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from longshore.core.words.errors import InputError, LongshoreError
from longshore.core.words.registry import Registry


class Hyperparameter(NamedTuple):
    """One field."""

    name: str
    kind: str
    """Its type as the source writes it."""
    default: Any
    """None = none that could be written down."""
    help: str
    words: Mapping[str, Any] | None = None
    """What `Flag(…)` beside the type says; None = there is none."""

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
    module, _, attribute = registry.target(name).rpartition(":")
    return tuple(fields_of(module, attribute).values())


def _module(registry: Registry, name: str) -> str:
    return registry.target(name).rpartition(":")[0]


def fields_of(module: str, class_name: str) -> dict[str, Hyperparameter]:
    """Return the fields of a class by name, those of the classes that it builds on first."""
    tree = _tree(module)
    found: dict[str, Hyperparameter] = {}
    body = _class_body(tree, module, class_name, found)
    for statement, following in itertools.pairwise([*body, None]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.value is None or ast.unparse(statement.annotation).startswith("ClassVar"):
            continue
        name, kind, beside = statement.target.id, statement.annotation, []
        if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
            kind, *beside = cast("ast.Tuple", kind.slice).elts
        default = None if isinstance(statement.value, ast.Call) else ast.literal_eval(statement.value)
        found[name] = Hyperparameter(name, ast.unparse(kind), default, _text(following), _flag_words(beside))
    return found


def _flag_words(beside: list[ast.expr]) -> dict[str, Any] | None:
    calls = [one for one in beside if isinstance(one, ast.Call) and ast.unparse(one.func) == "Flag"]
    return {str(one.arg): ast.literal_eval(one.value) for one in calls[0].keywords} if calls else None


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
                    inherited |= fields_of(*origin.get(base.id, (module, base.id)))
            return statement.body
    return []


def _text(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""


@cache
def _tree(module: str) -> ast.Module:
    file = _file(module)
    return ast.parse("" if file is None else file.read_text(encoding="utf-8"))


def _file(module: str) -> Path | None:
    """Return the source of a module; None where it is compiled into Python, as bases of typing's classes are."""
    if module.endswith(".py"):  # a user's own
        if not Path(module).is_file():
            raise InputError(f"there is no file `{module}`", "give the path from the current folder")
        return Path(module)
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise LongshoreError(f"the module `{module}` is not installed", "repair or remove the package that adds it")
    return Path(spec.origin) if spec.has_location else None
