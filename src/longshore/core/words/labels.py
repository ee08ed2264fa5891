"""Labels and label selectors with upstream's meaning, shared by node affinity, pod affinity and spreading.

A selector that is `None` matches nothing (Kubernetes' nil); one without requirements matches everything.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from longshore.core.words.quantity import INT64_MAX

Labels = tuple[tuple[str, str], ...]
"""Sorted (key, value) pairs: hashable, so that equal pods share one class."""

_INT64_DIGITS = 19

_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX_PART = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME, _LONGEST_PREFIX = 63, 253


class Requirement(NamedTuple):
    """One condition on a label: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the labels fulfil this requirement."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and self._compares(value)
        return False

    def _compares(self, value: str) -> bool:
        have, want = parse_int64(value), parse_int64(self.values[0])
        if have is None or want is None:
            return False
        return have > want if self.operator == "Gt" else have < want


class Selector(NamedTuple):
    """All requirements must hold."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the labels fulfil every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def is_empty(self) -> bool:
        """An empty selector matches everything; spreading counts nothing for it all the same."""
        return not self.requirements

    def extended(self, labels: Mapping[str, str]) -> "Selector":
        """Return this selector with equality on the given labels added."""
        equal = tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))
        return Selector(equal + self.requirements)


def is_parsable(requirement: Requirement) -> bool:
    """Say whether upstream can read the requirement (`labels.NewRequirement`).

    The API server stores requirements that the scheduler then cannot read: what follows from that differs by where they
    stand, and is the reader's business.
    """
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            has_values = bool(values)
        case "Exists" | "DoesNotExist":
            has_values = not values
        case "Gt" | "Lt":
            has_values = len(values) == 1 and parse_int64(values[0]) is not None
        case _:
            return False
    return has_values and _is_label_key(requirement.key) and all(_is_label_value(value) for value in values)


def find_unparsable(selectors: Iterable[Selector | None]) -> Requirement | None:
    """Return the first requirement of the selectors that upstream cannot read, None if it can read them all."""
    requirements = (requirement for selector in selectors if selector for requirement in selector.requirements)
    return next((requirement for requirement in requirements if not is_parsable(requirement)), None)


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not all(map(_PREFIX_PART.fullmatch, prefix.split(".")))):
        return False
    return bool(name) and _is_label_value(name)


def _is_label_value(value: str) -> bool:
    return not value or (len(value) <= _LONGEST_NAME and _LABEL_NAME.fullmatch(value) is not None)


def selector_matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """Match labels; no selector matches nothing."""
    return selector is not None and selector.matches(labels)


def freeze(labels: Mapping[str, str] | None) -> Labels:
    """Turn a mapping into sorted pairs."""
    return tuple(sorted(labels.items())) if labels else ()


def parse_int64(text: str) -> int | None:
    """Parse as Go's strconv.ParseInt(text, 10, 64) does: a sign and ASCII digits, nothing else."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0")
    if len(significant) > _INT64_DIGITS:
        return None  # before Python looks at it: it refuses to read some thousands of digits
    value = int(significant or "0") * (-1 if text[0] == "-" else 1)
    return value if -INT64_MAX - 1 <= value <= INT64_MAX else None
