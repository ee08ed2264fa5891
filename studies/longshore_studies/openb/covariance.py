"""A search that learns which weights have to move together: covariance matrix adaptation (CMA-ES).

`agents.learners.evolution` has a step size for every weight. Here every direction has one, which takes a matrix of all
pairs of weights: right for the few hundred of a weighted sum, too much for a network. Variants come in mirrored pairs
and count by rank, as there. The rules are those of Hansen's tutorial on CMA-ES, with its constants.
"""

from dataclasses import dataclass, field

import numpy as np

from longshore.core.arrays.ops import Array


def rank_weights(population: int) -> Array:
    """Return how much the better half of the variants count [population / 2], the best first."""
    parents = population // 2
    weights = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
    return weights / weights.sum()


def mirrored_noise(population: int, size: int, rng: np.random.Generator) -> Array:
    """Return what variants differ by [population, size], in mirrored pairs."""
    half = rng.standard_normal((population // 2, size))
    return np.concatenate([half, -half])


def better_half(fitness: Array) -> Array:
    """Return which variants those are [population / 2], the best first; NaN is the worst."""
    return np.argsort(-np.nan_to_num(fitness, nan=-np.inf), kind="stable")[: len(fitness) // 2]


@dataclass
class CovarianceSearch:
    """Where a search stands; `ask` for variants, `tell` what they were worth."""

    size: int
    """Numbers to search."""
    population: int
    """Variants per generation; even."""
    deviation: float
    """Step size, at first and now."""
    rng: np.random.Generator
    mean: Array = field(init=False)
    generation: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Begin at 0, with equal steps in all directions."""
        size = self.size
        self.mean = np.zeros(size)
        self._weights = rank_weights(self.population)
        self._mass = mass = 1 / (self._weights**2).sum()
        self._deviation_rate = (mass + 2) / (size + mass + 5)
        self._damping = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (size + 1)) - 1) + self._deviation_rate
        self._path_rate = (4 + mass / size) / (size + 4 + 2 * mass / size)
        self._one_rate = 2 / ((size + 1.3) ** 2 + mass)
        self._many_rate = min(1 - self._one_rate, 2 * (mass - 2 + 1 / mass) / ((size + 2) ** 2 + mass))
        self._usual_length = np.sqrt(size) * (1 - 1 / (4 * size) + 1 / (21 * size**2))
        self._covariance: Array = np.eye(size)
        self._root: Array = np.eye(size)
        self._deviation_path, self._path = np.zeros(size), np.zeros(size)
        self._noise = np.zeros((self.population, size))

    def ask(self) -> Array:
        """Return variants [population, size]."""
        self._noise = mirrored_noise(self.population, self.size, self.rng)
        return self.mean + self.deviation * self._noise @ self._root.T

    def tell(self, fitness: Array) -> None:
        """Move towards the better half [population]; NaN is the worst."""
        noise = self._noise[better_half(fitness)]
        steps = noise @ self._root.T
        step = self._weights @ steps
        self.mean = self.mean + self.deviation * step
        self.generation += 1
        is_usual = self._follow(self._weights @ noise)
        rate = self._path_rate
        self._path = (1 - rate) * self._path + is_usual * np.sqrt(rate * (2 - rate) * self._mass) * step
        one = np.outer(self._path, self._path) + (0 if is_usual else rate * (2 - rate)) * self._covariance
        many = (steps.T * self._weights) @ steps
        kept = 1 - self._one_rate - self._many_rate
        self._covariance = kept * self._covariance + self._one_rate * one + self._many_rate * many
        self._root = np.linalg.cholesky((self._covariance + self._covariance.T) / 2)

    def _follow(self, step: Array) -> bool:
        """Make steps longer where they go on in one direction; say whether the path is of a usual length.

        While it is not, the step size is still wrong, and the path says little about directions.
        """
        rate = self._deviation_rate
        self._deviation_path = (1 - rate) * self._deviation_path + np.sqrt(rate * (2 - rate) * self._mass) * step
        length = float(np.linalg.norm(self._deviation_path)) / self._usual_length
        self.deviation *= float(np.exp(min(0.2, rate / self._damping * (length - 1))))
        return bool(length / np.sqrt(1 - (1 - rate) ** (2 * self.generation)) < 1.4 + 2 / (self.size + 1))
