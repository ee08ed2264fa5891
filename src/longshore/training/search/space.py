"""What a sweep searches: a domain for each hyperparameter, within its range and around its value, or the user's own.

A share or rate stays a share: what is 1 or less by default is searched up to 1, and what is close to 1 (a discount) by
its distance from 1. Sizes go in steps of two. What only buys a better result by more work is left alone.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from longshore.agents.ranges import Declared, Range, declared
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.training.run.plan import Plan

Scale = Literal["log", "linear", "complement", "doubling", "choice"]

NETWORK_PREFIX = "network."
_SPAN = 10.0
_DOUBLINGS = 2
# A share closer to 1 than this is searched by its distance from 1.
_NEAR_ONE = 0.5


@dataclass(frozen=True)
class Domain:
    """The values of one hyperparameter that are tried."""

    name: str
    """With `network.` before it where it is the network's."""
    scale: Scale
    default: Any
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        """Name of what is drawn, as the study stores it."""
        if self.scale == "complement":
            return f"1-{self.name}"
        return f"log2({self.name}/{self.default})" if self.scale == "doubling" else self.name

    def suggest(self, trial: Any) -> Any:
        """Draw a value by an Optuna trial."""
        if self.scale == "choice":
            return trial.suggest_categorical(self.label, list(self.choices))
        if self.scale == "doubling":
            return self._value(trial.suggest_int(self.label, round(self.low), round(self.high)))
        is_log = self.scale in ("log", "complement")
        if self.is_whole:
            return trial.suggest_int(self.label, round(self.low), round(self.high), log=is_log)
        return self._value(trial.suggest_float(self.label, self.low, self.high, log=is_log))

    def drawn(self, value: Any) -> Any:
        """Return what would have to be drawn for a value; None = it lies outside of the domain."""
        if self.scale == "choice":
            return value if value in self.choices else None
        if self.scale == "doubling":
            return 0 if value == self.default and self.low <= 0 <= self.high else None
        found = 1 - value if self.scale == "complement" else value
        return found if self.low <= found <= self.high else None

    def describe(self) -> str:
        """Say the domain for people."""
        if self.scale == "choice":
            return ", ".join(str(choice) for choice in self.choices)
        low, high = self.low, self.high
        if self.scale == "complement":
            low, high = 1 - self.high, 1 - self.low
        elif self.scale == "doubling":
            low, high = self._value(round(self.low)), self._value(round(self.high))
        return f"{low:g} to {high:g}"

    def _value(self, drawn: float) -> Any:
        if self.scale == "doubling":
            return max(round(self.default * 2.0**drawn), 1)
        return 1 - drawn if self.scale == "complement" else drawn


@dataclass(frozen=True)
class Space:
    """All that a sweep searches, and what it searches around."""

    base: Plan
    """With what is fixed."""
    domains: tuple[Domain, ...]

    def suggest(self, trial: Any) -> Plan:
        """Draw a plan by an Optuna trial."""
        return self.plan_of({domain.name: domain.suggest(trial) for domain in self.domains})

    def plan_of(self, values: Mapping[str, Any]) -> Plan:
        """Return the base with other hyperparameters."""
        own = {name: value for name, value in values.items() if not name.startswith(NETWORK_PREFIX)}
        network = {name.removeprefix(NETWORK_PREFIX): values[name] for name in values if name not in own}
        return dataclasses.replace(
            self.base,
            learner_config={**self.base.learner_config, **own},
            network_config={**self.base.network_config, **network},
        )

    def defaults(self) -> dict[str, Any] | None:
        """Return what would have to be drawn for the base itself; None = it lies outside of the space."""
        found = {domain.label: domain.drawn(domain.default) for domain in self.domains}
        return None if None in found.values() else found

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain values, to compare with another sweep's."""
        return [dataclasses.asdict(domain) | {"choices": list(domain.choices)} for domain in self.domains]


def make_space(
    plan: Plan, search: Sequence[str] = (), fix: Sequence[str] = (), *, has_only_searched: bool = False
) -> Space:
    """Return what a sweep of a plan searches.

    Args:
        plan: hyperparameters that it sets are searched around these values.
        search: `name=low:high` or `name=a,b,c`, in place of the domain that the field would have by itself.
        fix: `name=value`; not searched.
        has_only_searched: leave out all that `search` does not name.

    Raises:
        InputError: a range that cannot be read, or nothing is left to search.
    """
    narrowed, fixed = _parsed(search, "--search"), _parsed(fix, "--fix")
    for name in narrowed:
        if name in fixed:
            raise InputError(f"got both `--search {name}=…` and `--fix {name}=…`", "leave one of them out")
    learner = plan.build_learner()
    fields = _fields(learner, "")
    if not learner.has_own_network:
        fields |= _fields(plan.build_network(), NETWORK_PREFIX)
    for name in (*narrowed, *fixed):
        if name not in fields:
            raise UnknownNameError(f"hyperparameter of `{plan.learner}`", name, fields)
    base = Space(plan, ()).plan_of({name: _value(name, fields[name].kind, text) for name, text in fixed.items()})
    domains: list[Domain] = []
    for name, own in fields.items():
        if name in fixed:
            continue
        if name in narrowed:
            domains.append(_given(name, own.kind, own.default, narrowed[name]))
        elif not has_only_searched and _is_searched(name, own.range, plan):
            domains += _usual(name, own)
    if not domains:
        raise InputError("there is nothing to search", "name a hyperparameter: `--search learning_rate=1e-4:1e-2`")
    return Space(base, tuple(domains))


def _fields(unit: Any, prefix: str) -> dict[str, Declared]:
    """Return the hyperparameters, their values here as the defaults."""
    own = declared(type(unit))
    return {prefix + name: one._replace(default=getattr(unit, name)) for name, one in own.items()}


def _is_searched(name: str, allowed: Range | None, plan: Plan) -> bool:
    if name.startswith(NETWORK_PREFIX):
        return False
    return allowed is None or not (allowed.is_budget or (allowed.is_guides and not plan.guide))


def _usual(name: str, own: Declared) -> list[Domain]:
    """Return the domain that a field has by itself; none for what has no range of its own."""
    kind, default, allowed = own
    if kind is bool:
        return [Domain(name, "choice", default, choices=(False, True))]
    if get_origin(kind) is Literal:
        return [Domain(name, "choice", default, choices=get_args(kind))]
    if allowed is None or default <= 0:
        return []
    if kind is int:
        sizes = {steps: round(default * 2.0**steps) for steps in range(-_DOUBLINGS, _DOUBLINGS + 1)}
        steps = [one for one, size in sizes.items() if max(allowed.least, 1) <= size <= allowed.most]
        return [Domain(name, "doubling", default, steps[0], steps[-1], is_whole=True)]
    if _NEAR_ONE < default < 1:
        return [Domain(name, "complement", default, (1 - default) / _SPAN, min((1 - default) * _SPAN, _NEAR_ONE))]
    high = min(default * _SPAN, 1.0 if default <= 1 else allowed.most)
    return [Domain(name, "log", default, default / _SPAN, high)]


def _given(name: str, kind: Any, default: Any, text: str) -> Domain:
    """Read a domain as the user wrote it."""
    if ":" not in text:
        choices = tuple(_value(name, kind, part.strip()) for part in text.split(","))
        return Domain(name, "choice", default, choices=choices)
    if kind not in (int, float):
        raise InputError(f"got the range `{text}` for `{name}`", f"list its values: `--search {name}=a,b`")
    parts = text.split(":")
    if len(parts) != 2:
        raise InputError(f"got the range `{text}` for `{name}`, expected `low:high`", _example(name))
    low, high = (_value(name, kind, part.strip()) for part in parts)
    if not low < high:
        raise InputError(
            f"got the range `{text}` for `{name}`, expected `low:high` with low below high", _example(name)
        )
    if kind is float and low > _NEAR_ONE and high < 1:
        return Domain(name, "complement", default, 1 - high, 1 - low)
    return Domain(name, "log" if low > 0 else "linear", default, low, high, is_whole=kind is int)


def _value(name: str, kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"got `{text}` for `{name}`, expected `true` or `false`")
        return text.lower() == "true"
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise UnknownNameError(f"value of `{name}`", text, get_args(kind))
        return text
    if kind not in (int, float):
        return text
    try:
        found = kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"got `{text}` for `{name}`, expected {wanted}", _example(name)) from error
    if not math.isfinite(found):
        raise InputError(f"got `{text}` for `{name}`, expected a finite number", _example(name))
    return found


def _parsed(given: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name.strip() or not value.strip():
            raise InputError(f"got `{option} {text}`, expected `{option} name=…`", _example("learning_rate"))
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def _example(name: str) -> str:
    return f"for instance `--search {name}=1e-4:1e-2` or `--search batch=64,256`"
