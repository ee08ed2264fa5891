"""Ways to cut a GPU into shares: what the bounds of the outside tables know about GPUs that the sum of shares does not.

A pattern is a multiset of shares that fit on one GPU together. A share may lie in a cut that is larger than it, so only
patterns matter in which nothing can be added and no cut can grow to the next larger share: the rest are no better than
one of them. That leaves some hundred patterns for twenty shares instead of some ten thousand.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.gpu import WHOLE_GPU_MILLI
from longshore.core.arrays.ops import Array

_MOST_PATTERNS = 3000
"""The program has one variable for each of them and each group of nodes, and should take about a second."""
_MOST_STEPS = 500_000
_STEPS_OF_SHARES = (10, 20, 50, 100)
"""A list with too many different shares has them rounded down to the first of these that leaves few enough patterns."""


class Cutting(NamedTuple):
    """How GPUs can be cut for some shares."""

    size_of_share: Array  # [shares] int64: the cut that each of them needs; 0 = none to speak of
    sizes: Array  # [sizes] int64, ascending, each above 0
    patterns: Array  # [patterns, sizes] int64: cuts of each size


def cut_gpus(gpu_milli: Array) -> Cutting:
    """Return the patterns for these shares [shares], which may repeat; a whole GPU is a share of 1000, none is 0.

    Where there are too many different shares, they are rounded down, but those of more than half a GPU stay more than
    half. Smaller shares pack no worse, so that a bound stays a bound.
    """
    shares = np.asarray(gpu_milli, np.int64)
    half = WHOLE_GPU_MILLI // 2
    for step in (1, *_STEPS_OF_SHARES):
        size = shares // step * step
        size = np.where(shares > half, np.maximum(size, half + 1), size)
        sizes = np.unique(size[size > 0])
        patterns = _undominated(tuple(sizes.tolist()))
        if patterns is not None:
            return Cutting(size, sizes, patterns)
    raise AssertionError("shares in steps of a tenth have few patterns")


@lru_cache(maxsize=64)
def _undominated(sizes: tuple[int, ...]) -> Array | None:
    """Return the patterns that no other is better than, or None if they are too many."""
    found: list[tuple[int, ...]] = []
    # What each cut would have to grow by to be the next larger one.
    growth = [*np.diff(sizes).tolist(), WHOLE_GPU_MILLI]
    steps = 0
    # (size to decide on next, milli left, least growth of the cuts so far, cuts so far from the largest size on)
    stack: list[tuple[int, int, int, tuple[int, ...]]] = [(len(sizes) - 1, WHOLE_GPU_MILLI, WHOLE_GPU_MILLI + 1, ())]
    while stack and sizes:
        index, left, least_growth, cuts = stack.pop()
        most = left // sizes[index]
        steps += most + 1
        if index == 0:
            least = min(least_growth, growth[0]) if most else least_growth
            if left - most * sizes[0] < least:
                found.append((most, *reversed(cuts)))
        else:
            for number in range(most + 1):
                least = min(least_growth, growth[index]) if number else least_growth
                stack.append((index - 1, left - number * sizes[index], least, (*cuts, number)))
        if len(found) > _MOST_PATTERNS or steps > _MOST_STEPS:
            return None
    return np.array(found, np.int64).reshape(len(found), len(sizes))
