"""What a score plugin is: a raw integer per node, and upstream's way of bringing it to 0..100."""

from collections.abc import Callable
from dataclasses import dataclass

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace

MAX_SCORE = 100

Raw = Callable[[ClusterArrays, Array, Array], Array]
"""(arrays, pod class, feasible [nodes]) -> int64 [nodes]."""

Normalize = Callable[[ClusterArrays, Array, Array, Array], Array]
"""(arrays, pod class, feasible, raw) -> int64 [nodes] in 0..100; only feasible nodes take part."""


def as_is(_arrays: ClusterArrays, _pod_class: Array, _feasible: Array, raw: Array) -> Array:
    """Leave a score that already is in 0..100."""
    return raw


@dataclass(frozen=True)
class ScorePlugin:
    """One of upstream's score plugins."""

    raw: Raw
    normalize: Normalize = as_is


def scale_to_max(raw: Array, feasible: Array, *, is_reversed: bool) -> Array:
    """Scale so that the largest feasible raw score becomes 100 (or 0 if reversed), in integers."""
    xp = namespace(raw)
    largest = xp.where(feasible, raw, 0).max()
    scaled = xp.where(largest > 0, MAX_SCORE * raw // xp.maximum(largest, 1), raw)
    return MAX_SCORE - scaled if is_reversed else scaled
