"""Means with intervals: what may be said of a few seeds.

The interval is a bootstrap's: the runs are drawn again with replacement, 10,000 times, and the middle 95 % of the means
count. Of few runs the bare percentiles are too narrow (10 runs: about 90 % instead of 95 %): a bootstrap divides by n
where it should by n - 1, and knows nothing of Student's t. The percentiles are moved outwards by exactly that.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError

RESAMPLES = 10_000
LEVEL = 0.95
ROUNDING = 1e-9
"""By how much sums may differ, relative to their size, that are added up in another order."""


@dataclass(frozen=True)
class Interval:
    """A mean and the interval that holds the true one at the level asked for; nan = not defined."""

    mean: float
    low: float
    high: float


def bootstrap_means(
    values: Array, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Array, Array, Array]:
    """Return mean, low and high of every column of `values` [runs, columns].

    A run without a value (nan) is left out of its column. Of one run only the mean is known.
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 2 or not values.shape[0]:
        raise InputError(f"got values of shape {values.shape}, expected at least one run in each column")
    if not 0.0 < level < 1.0:
        raise InputError(f"got the level `{level}`, expected a share between 0 and 1", "0.95 is usual")
    mean, low, high = (np.full(values.shape[1], np.nan) for _ in range(3))
    is_known = ~np.isnan(values)
    patterns, which = np.unique(is_known.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        columns = np.flatnonzero(which.reshape(-1) == number)
        if pattern.any():
            mean[columns], low[columns], high[columns] = _bootstrap(
                values[np.ix_(pattern, columns)], level, resamples, seed
            )
    return mean, low, high


def interval(values: Array, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Return the mean of `values` [runs] with its interval."""
    column = np.asarray(values, np.float64).reshape(-1, 1)
    mean, low, high = bootstrap_means(column, level=level, resamples=resamples, seed=seed)
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def paired(values: Array, baseline: Array) -> Array:
    """Return `values` - `baseline`, run by run: 0 where rounding alone sets them apart."""
    difference = values - baseline
    scale = np.maximum(1.0, np.maximum(np.abs(values), np.abs(baseline)))
    return np.where(np.abs(difference) <= ROUNDING * scale, 0.0, difference)


def _bootstrap(values: Array, level: float, resamples: int, seed: int) -> tuple[Array, Array, Array]:
    number = len(values)
    mean = values.mean(axis=0)
    # A mean of equal numbers may differ from them in the last bit.
    is_constant = (values == values[0]).all(axis=0)
    mean = np.where(is_constant, values[0], mean)
    if number == 1:
        unknown = np.full(values.shape[1], np.nan)
        return mean, unknown, unknown
    # How often each run is drawn, instead of which: the means then are one product of matrices.
    drawn = np.random.default_rng(seed).multinomial(number, np.full(number, 1.0 / number), resamples)
    means = drawn @ values / number
    tail = _tail(number, level)
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    low, high = np.where(is_constant, mean, low), np.where(is_constant, mean, high)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


def _tail(number: int, level: float) -> float:
    """Return the percentile at which a bootstrap of `number` runs is as wide as Student's interval of normal data."""
    student = -float(special.stdtrit(number - 1, (1.0 - level) / 2.0))
    return float(special.ndtr(-student * math.sqrt(number / (number - 1.0))))
