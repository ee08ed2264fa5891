"""A search with steps of one size, whose answer is the average of where it has been.

A search that learns its step size (`openb.covariance`) reads noise as a sign that it has arrived, and stands still
where what a step gains is much less than what chance adds to it. This one walks on, and averages the noise out instead:
later places count more, as the first ones are on the way.
"""

from dataclasses import dataclass, field

import numpy as np

from longshore.core.arrays.ops import Array
from longshore_studies.openb.covariance import better_half, mirrored_noise, rank_weights

_RECENT = 3.0
"""The average follows the last quarter or so of the way; larger is later, and noisier."""


@dataclass
class SteadySearch:
    """Where a search stands; `ask` for variants, `tell` what they were worth."""

    size: int
    """Numbers to search."""
    population: int
    """Variants per generation; even."""
    deviation: float
    """Step size."""
    rng: np.random.Generator
    mean: Array = field(init=False)
    """The average of where it has been: what it has found."""
    generation: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Begin at 0."""
        self.mean, self._place = np.zeros(self.size), np.zeros(self.size)
        self._weights = rank_weights(self.population)
        self._noise = np.zeros((self.population, self.size))

    def ask(self) -> Array:
        """Return variants [population, size]."""
        self._noise = mirrored_noise(self.population, self.size, self.rng)
        return self._place + self.deviation * self._noise

    def tell(self, fitness: Array) -> None:
        """Move towards the better half [population]; NaN is the worst."""
        self._place = self._place + self.deviation * self._weights @ self._noise[better_half(fitness)]
        self.generation += 1
        share = (1 + _RECENT) / (self.generation + _RECENT)
        self.mean = (1 - share) * self.mean + share * self._place
