"""Draws for the random cases: the smallest set of functions over one stream of floats in [0, 1).

Only `Random.random` is used, because its sequence for a given seed is promised by Python across versions
(that of `choice` and `shuffle` is not), and because a call costs a tenth of a `randint`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Json = dict[str, Any]
"""An object as `kubectl get -o json` prints it. Parts may be shared inside one case: read-only for callers."""

Draw = Callable[[], float]
"""The next float of a case's random stream."""

Item = TypeVar("Item")


def pick(draw: Draw, options: Sequence[Item]) -> Item:
    """Choose one of the options; an option written twice has twice the chance."""
    return options[int(draw() * len(options))]


def pick_count(draw: Draw, low: int, high: int) -> int:
    """Choose a whole number between low and high, both included."""
    return low + int(draw() * (high - low + 1))


def pick_each(draw: Draw, options: Sequence[Item], share: float) -> list[Item]:
    """Keep every option with the given chance, in order."""
    return [option for option in options if draw() < share]


def pick_distinct(draw: Draw, options: Sequence[Item], count: int) -> list[Item]:
    """Choose up to `count` options without repeating a position."""
    rest = list(options)
    return [rest.pop(int(draw() * len(rest))) for _ in range(min(count, len(rest)))]
