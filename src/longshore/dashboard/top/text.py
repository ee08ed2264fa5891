"""The small pieces that lines of the view are made of: bars, amounts, times, cells of a width. Pure."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

FULL_RATIO = 0.95
HIGH_RATIO = 0.8
_CURVE = " ▁▂▃▄▅▆▇█"
_BYTE_UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Piece(NamedTuple):
    """A part of a line and the name of its style."""

    text: str
    style: str = "plain"


def bar(ratio: float, width: int) -> list[Piece]:
    """Draw a ratio of 0 to 1 as a line, filled from the left, in the colour of how full it is."""
    halves = round(min(max(ratio, 0.0), 1.0) * width * 2)
    if ratio > 0 and halves == 0:
        halves = 1  # something is not nothing
    filled = "━" * (halves // 2) + "╸" * (halves % 2)
    return [Piece(filled, level(ratio)), Piece("━" * (width - len(filled)), "track")]


def level(ratio: float) -> str:
    """Name the style of a ratio."""
    return "full" if ratio >= FULL_RATIO else "high" if ratio >= HIGH_RATIO else "fine"


def percent(ratio: float) -> str:
    """Write a ratio in whole per cent, in 4 characters."""
    return f"{min(math.floor(ratio * 100 + 0.5), 999):>3}%"


def cores(millis: int) -> str:
    """Write CPU in cores, as short as it is readable."""
    value = millis / 1000
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def amount_of_bytes(number: int) -> str:
    """Write bytes with a binary unit, as Kubernetes does."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    return digits + _BYTE_UNITS[unit]


def curve(counts: Sequence[int], width: int) -> str:
    """Draw counts as a curve of one line; the newest stand right."""
    shown = list(counts)[-width:]
    most = max(shown, default=0)
    if most == 0:
        return _CURVE[1] * len(shown)
    return "".join(_CURVE[max(1, math.ceil(count / most * (len(_CURVE) - 1)))] for count in shown)


def clock(seconds: float) -> str:
    """Write a time of day as the user's clock has it."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def cell(text: str, width: int, *, is_right: bool = False) -> str:
    """Make text exactly as wide as a column; what is cut off ends in `…`, what cannot be seen is shown as `?`."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else "?" for character in text)
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    return " " * (width - size) + text if is_right else text + " " * (width - size)
