"""The combiner: a weighted sum of objectives, itself an objective, and how one is written as text.

    ee                                        one objective by name
    ee=1,watts=0.01                           names with weights
    terms:                                    YAML, where terms may have parameters
      - {name: ee, weight: 1.0, measure: cpu, strict: true}
      - {name: path/to/file.py:function, weight: 0.5}

Nothing else adds objectives up. The sum ends an episode when any of its terms does.
"""

import dataclasses
import math
import re
import reprlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec
import yaml

from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.core.words.user_file import is_file_target
from longshore.objectives import REGISTRY
from longshore.objectives.base import Objective, Transition
from longshore.objectives.user import JitCheck, UserTerm, check_reward, load_user_term

_SHOWN_CHARACTERS = 200
_EXAMPLE = "write for instance `ee`, `ee=1,watts=0.01`, or YAML: `terms: [{name: ee, weight: 1.0, measure: cpu}]`"


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of objectives."""

    terms: tuple[tuple[float, Objective], ...]
    """(weight, objective)."""

    def __post_init__(self) -> None:
        if not self.terms:
            raise InputError("got no terms, expected at least one objective", _EXAMPLE)
        for weight, objective in self.terms:
            if not math.isfinite(weight):
                raise InputError(
                    f"objective `{objective_name(objective)}`: got weight `{weight}`, expected a finite number",
                    _EXAMPLE,
                )

    @property
    def rests_on(self) -> frozenset[str]:
        """What of nodes the terms rest on that may have to be assumed."""
        return frozenset(kind for _, objective in self.terms for kind in getattr(objective, "rests_on", ()))

    def reward(self, step: Transition) -> Array:
        """Return the sum of weight · reward."""
        xp = namespace(step.after.state.requested)
        total = xp.zeros((), xp.float64)
        for weight, objective in self.terms:
            total = total + weight * objective.reward(step)
        return total

    def ends_episode(self, step: Transition) -> Array:
        """End if any term does."""
        ends = namespace(step.after.state.requested).zeros((), bool)
        for _, objective in self.terms:
            ends = ends | objective.ends_episode(step)
        return ends

    def explain(self, step: Transition) -> dict[str, Array]:
        """Return what each term adds to the reward (weight included), by name; a name that repeats gets a number."""
        parts: dict[str, Array] = {}
        for weight, objective in self.terms:
            name = label = objective_name(objective)
            number = 1
            while label in parts:
                number += 1
                label = f"{name}#{number}"
            parts[label] = weight * objective.reward(step)
        return parts


def objective_name(objective: Objective) -> str:
    """Return the name under which an objective is registered; a class that is not gets its own name."""
    if isinstance(objective, UserTerm):
        return objective.name
    target = f"{type(objective).__module__}:{type(objective).__qualname__}"
    names = {target: name for name, target in REGISTRY.table.items()}
    return names.get(target, type(objective).__name__)


def parse_objective(text: str, *, check_jit: JitCheck | None = None) -> Weighted:
    """Read an objective from a name, from `name=weight,name=weight`, or from YAML.

    Args:
        text: what the user wrote.
        check_jit: for terms that are not ours, see `objectives/user.py`.

    Raises:
        InputError: if it cannot be read; unknown names, parameters and values are answered with the nearest valid one.
    """
    text = text.strip()
    if text in REGISTRY.table or is_file_target(text) or re.fullmatch(r"[\w.-]+", text):
        return Weighted(((1.0, build_objective(text, {}, check_jit=check_jit)),))
    if "\n" not in text and re.match(r"[^\s={\[]+\s*=", text):
        pairs = [_name_and_weight(part) for part in text.split(",")]
        return Weighted(tuple((weight, build_objective(name, {}, check_jit=check_jit)) for name, weight in pairs))
    return from_yaml(text, check_jit=check_jit)


def from_yaml(text: str, *, check_jit: JitCheck | None = None) -> Weighted:
    """Read `terms: [{name: ..., weight: ..., <parameter>: ...}, ...]`; a weight that is not given is 1."""
    try:
        document = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # The last three: a date or number that cannot be, and brackets nested without end.
        raise InputError(f"the objective is not YAML that can be read: {error}", _EXAMPLE) from error
    if not isinstance(document, dict) or "terms" not in document:
        raise InputError(f"got `{_shown(text.strip())}`, expected a name or a mapping with `terms`", _EXAMPLE)
    for key in document:
        if key != "terms":
            raise UnknownNameError("key of an objective", str(key), ["terms"])
    terms = document["terms"]
    if not isinstance(terms, list):
        raise InputError(f"`terms` is `{_shown(terms)}`, expected a list", _EXAMPLE)
    return Weighted(tuple(_term(term, check_jit) for term in terms))


def build_objective(name: str, parameters: Mapping[str, object], *, check_jit: JitCheck | None = None) -> Objective:
    """Make one objective from its name and parameters; one that is not ours is checked first.

    Raises:
        InputError: if a parameter is unknown or has a wrong value.
        UserTermError: if a user's own term fails its checks.
    """
    factory = REGISTRY.find(name)
    if not (isinstance(factory, type) and dataclasses.is_dataclass(factory)):
        if parameters:
            raise InputError(
                f"objective `{name}` is a function: got parameters {', '.join(sorted(parameters))}, expected none",
                "only `name` and `weight`; write other values into the function",
            )
        return load_user_term(name, check_jit=check_jit)
    _check_parameters(name, factory, parameters)
    try:
        objective = cast("Objective", msgspec.convert(dict(parameters), factory))
    except msgspec.ValidationError as error:
        raise InputError(f"objective `{name}`: {error}", f"its parameters: {_described(factory)}") from error
    if name in REGISTRY.table:
        return objective
    check_reward(name, objective.reward, check_jit=check_jit)
    return UserTerm(name, objective)


def _term(term: object, check_jit: JitCheck | None) -> tuple[float, Objective]:
    if isinstance(term, str):
        term = {"name": term}
    if not isinstance(term, dict) or not isinstance(term.get("name"), str):
        raise InputError(f"got the term `{_shown(term)}`, expected a mapping with `name`", _EXAMPLE)
    parameters = {str(key): value for key, value in term.items() if key not in ("name", "weight")}
    weight = term.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or abs(weight) > sys.float_info.max:
        raise InputError(
            f"objective `{term['name']}`: got weight `{_shown(weight)}`, expected a finite number", _EXAMPLE
        )
    return float(weight), build_objective(term["name"], parameters, check_jit=check_jit)


def _name_and_weight(part: str) -> tuple[str, float]:
    name, _, weight = (piece.strip() for piece in part.rpartition("="))
    if not name:
        raise InputError(f"got `{part.strip()}`, expected `name=weight`", _EXAMPLE)
    try:
        return name, float(weight)
    except ValueError as error:
        raise InputError(f"objective `{name}`: got weight `{weight}`, expected a number", _EXAMPLE) from error


def _check_parameters(name: str, factory: type, parameters: Mapping[str, object]) -> None:
    """Answer slips with the nearest valid word, which the general type check cannot."""
    hints = _parameter_types(factory)
    for key, value in parameters.items():
        if key not in hints:
            raise UnknownNameError(f"parameter of objective `{name}`", key, [*hints, "weight"])
        choices = get_args(hints[key]) if get_origin(hints[key]) is Literal else None
        if choices and isinstance(value, str) and value not in choices:
            raise UnknownNameError(f"`{key}` of objective `{name}`", value, choices)


def _parameter_types(factory: type) -> dict[str, Any]:
    hints = get_type_hints(factory)
    return {field.name: hints[field.name] for field in dataclasses.fields(factory)}


def _described(factory: type) -> str:
    defaults = (f"`{field.name}` (default {field.default!r})" for field in dataclasses.fields(factory))
    return ", ".join(defaults) or "none"


def _shown(value: object) -> str:
    """Write a value for a message: short, since YAML's references can make a line into a gigabyte."""
    return value[:_SHOWN_CHARACTERS] if isinstance(value, str) else reprlib.repr(value)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, and numbers as people write them."""


# YAML 1.1, which PyYAML follows, reads `1e-3` as text; YAML 1.2 and everybody else read a number.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)
