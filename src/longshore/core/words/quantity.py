"""Kubernetes quantities (`100m`, `0.5`, `1e3`, `4Gi`), parsed exactly.

Text comes in, whole nano-units go out (upstream keeps no finer scale and rounds up to it). Sums are made in nano-units
and rounded once at the end, as upstream does: `ceil(a + b)` is not `ceil(a) + ceil(b)`. Called by `kube.convert`.
"""

import re
from functools import lru_cache

from longshore.core.words.errors import QuantityError

NANOS_PER_UNIT = 10**9
NANOS_PER_MILLI = 10**6
INT64_MAX = 2**63 - 1

_PATTERN = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i|)")
_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWER = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
# An exponent beyond this says nothing that int64 could hold; without the bound, `1e999999999` would eat all memory.
_LARGEST_EXPONENT = 100
# Python refuses to read numbers of some thousands of digits; no quantity needs a hundred.
_LONGEST_TEXT = 256


@lru_cache(maxsize=65536)
def parse_nanos(text: str) -> int:
    """Parse a quantity into nano-units, rounded up and capped at int64 units as upstream does.

    Raises:
        QuantityError: the text is not a quantity.
    """
    match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise _refusal(text)
    sign, number, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    mantissa = int(whole + fraction or "0")
    numerator, denominator = _scale(text, suffix, len(fraction))
    nanos = -(-mantissa * numerator * NANOS_PER_UNIT // denominator)
    nanos = min(nanos, INT64_MAX * NANOS_PER_UNIT)
    return -nanos if sign == "-" else nanos


def _scale(text: str, suffix: str, fraction_digits: int) -> tuple[int, int]:
    if suffix in _BINARY_POWER:
        return 2 ** _BINARY_POWER[suffix], 10**fraction_digits
    power = _DECIMAL_POWER[suffix] if suffix in _DECIMAL_POWER else int(suffix[1:])
    if abs(power) > _LARGEST_EXPONENT:
        raise _refusal(text)
    power -= fraction_digits
    return (10**power, 1) if power >= 0 else (1, 10**-power)


def _refusal(text: str) -> QuantityError:
    hint = "a quantity is a number with an optional suffix, such as `500m`, `0.5`, `1e3` or `4Gi`"
    return QuantityError(f"`{text}` is not a quantity", hint)


def to_millis(nanos: int) -> int:
    """Round nano-units up to thousandths (CPU: milli-cores)."""
    return min(-(-nanos // NANOS_PER_MILLI), INT64_MAX)


def to_units(nanos: int) -> int:
    """Round nano-units up to whole units (memory: bytes)."""
    return min(-(-nanos // NANOS_PER_UNIT), INT64_MAX)
