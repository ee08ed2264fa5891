"""Labels and label selectors with upstream's meaning, shared by node affinity, pod affinity and spreading.

A selector that is `None` matches nothing (Kubernetes' nil); one without requirements matches everything.
"""

from collections.abc import Mapping
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Sorted (key, value) pairs: hashable, so that equal pods share one class."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_INT64_DIGITS = 19


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
    return value if INT64_MIN <= value <= INT64_MAX else None
