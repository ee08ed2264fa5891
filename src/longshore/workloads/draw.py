"""Random numbers that are the same on every machine and with every version of Python.

Only `random.Random.random` promises that (its other methods may change between versions), so all that workloads draw
is made here from it, by formulas of a line or two.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """A stream of random draws; a workload's name and seed name the stream."""

    def __init__(self, name: str, seed: int) -> None:
        # A text seed is hashed by SHA-512: the same everywhere, and neighbouring seeds have nothing in common.
        self._random = Random(f"{name}:{seed}").random

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Draw from [low, high)."""
        return low + (high - low) * self._random()

    def integer(self, low: int, high: int) -> int:
        """Draw a whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def choice(self, items: Sequence[Item]) -> Item:
        """Draw one item, each as likely as the others."""
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Draw one item by weight."""
        left = self._random() * math.fsum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]

    def shuffled(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Put the items into a random order (Fisher-Yates)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.integer(0, last)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return tuple(mixed)

    def exponential(self, mean: float) -> float:
        """Draw from the exponential distribution."""
        return -mean * math.log(1.0 - self._random())

    def normal(self, mean: float, deviation: float) -> float:
        """Draw from the normal distribution (Box-Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self._random()))
        return mean + deviation * radius * math.cos(2.0 * math.pi * self._random())

    def log_normal(self, mean: float, sigma: float) -> float:
        """Draw from the log-normal distribution with this mean; `sigma` is the deviation of the logarithm."""
        return math.exp(self.normal(math.log(mean) - sigma * sigma / 2.0, sigma))
