"""Numbers and names as people read them: 408 W, 45.5 kW, `ip-10-0-1-23…internal`."""

import math
from collections.abc import Iterable

DIGITS = 4
"""Digits of a number that count."""
_LARGE, _SMALL = 10_000.0, 1e-3
_SCALES = ((1e6, "M"), (1e3, "k"), (1.0, ""))
_SCALED_UNITS = ("W", "Wh")
_UNIT_DIGITS = 3
_SHORTEST_END = 3
"""Fewer characters of a name's end tell nothing: none are better."""


def number(value: float, digits: int = DIGITS) -> str:
    """Write a number with so many digits that count; only a very small one gets an exponent."""
    size = abs(value)
    if not math.isfinite(value) or size == 0.0:
        return "-" if not math.isfinite(value) else "0"
    if size < _SMALL:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if size >= _LARGE or float(value).is_integer():
        return f"{value:,.0f}"
    text = f"{value:,.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, unit: str, *others: float, digits: int = DIGITS) -> str:
    """Write a number with its unit where that is of power or energy, and `others` of the same scale in brackets."""
    factor, prefix = 1.0, ""
    if unit.lstrip("k") in _SCALED_UNITS and math.isfinite(value):
        factor = 1e3 if unit.startswith("k") else 1.0
        scale, letter = next((one for one in _SCALES if abs(value) * factor >= one[0]), _SCALES[-1])
        factor, prefix, digits = factor / scale, f" {letter}{unit.lstrip('k')}", _UNIT_DIGITS
    texts = [number(one * factor, digits) for one in (value, *others)]
    # Ends that read as the number itself tell nothing.
    return f"{texts[0]}{prefix}" + (f" [{', '.join(texts[1:])}]" if len(set(texts)) > 1 else "")


def shorten(names: Iterable[str], most: int) -> dict[str, str]:
    """Cut names of more than `most` characters in the middle; different names stay different, if need be longer."""
    kept = dict.fromkeys(names)
    longest = max(map(len, kept), default=0)
    for length in range(max(most, 2), longest):
        # Both ends alike, or else more of the end in which the names differ.
        ends = [tail for tail in range(length) if not 0 < min(tail, length - 1 - tail) < _SHORTEST_END]
        for tail in sorted(ends, key=lambda tail: abs(tail - (length - 1) // 2)):
            found = {name: _cut(name, length, tail) for name in kept}
            if len(set(found.values())) == len(found):
                return found
    return {name: name for name in kept}


def _cut(name: str, length: int, tail: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"
