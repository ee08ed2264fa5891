"""The features of `arrays.feature_table`, computed: what a policy reads of every node.

In: the cluster as the policy sees it, a pod's class, and where the pod may go. Out: float32 [nodes, features], the only
place where numbers are cast for networks. Every value is finite and in -1..1, rows that are no node are 0, and pools
are over all real nodes, so that a row means the same in a cluster of any size.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.feature_table import FEATURES, Feature
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError, UnknownNameError

_BY_NAME = {feature.name: feature for feature in FEATURES}

ALL = tuple(_BY_NAME)


def default_names(has_gpus: bool) -> tuple[str, ...]:
    """Return the features to offer where none are named: those of GPUs in detail only where a node has some."""
    return tuple(feature.name for feature in FEATURES if has_gpus or not feature.needs_gpus)


def features(arrays: ClusterArrays, pod_class: Array, feasible: Array, names: Sequence[str] = ALL) -> Array:
    """Compute the features by name, float32 [nodes, features].

    Args:
        arrays: the cluster as the policy sees it; NumPy or JAX.
        pod_class: of the pod to place.
        feasible: where it may go [nodes].
        names: which features, in the order of the columns.

    Raises:
        UnknownNameError: no such feature.
    """
    return columns(View(arrays, pod_class, feasible), chosen(names))


def columns(view: View, wanted: Sequence[Feature]) -> Array:
    """Compute features of a view, float32 [nodes, features], or [classes, features] of several on a single node.

    In NumPy each column lies in one piece.
    """
    if view.xp is np:
        of_one_pod = np.ndim(view.pod_class) == 0
        found = np.empty((len(wanted), len(view.is_real if of_one_pod else view.pod_class)), np.float32)
        write_columns(view, enumerate(wanted), found)
        return found.T
    given = [view.xp.where(view.is_real, feature.compute(view), 0.0).astype(view.xp.float32) for feature in wanted]
    return view.xp.stack(view.xp.broadcast_arrays(*given), axis=-1)


def write_columns(view: View, wanted: Iterable[tuple[int, Feature]], found: Array) -> None:
    """Write features of a NumPy view, each at its place, to [features, nodes]; the others are left as they are."""
    for place, feature in wanted:
        found[place] = feature.compute(view)
    if not view.is_all_real:
        np.copyto(found, 0, where=~view.is_real)


def runs_of(wanted: Iterable[tuple[int, Feature]]) -> tuple[list[tuple[slice, slice]], list[tuple[int, Feature]]]:
    """Part features at their places into runs, each copied at once (places, rows of `View.block`), and the others."""
    runs: list[tuple[slice, slice]] = []
    rest: list[tuple[int, Feature]] = []
    for place, feature in wanted:
        row = feature.block_row
        if row is None:
            rest.append((place, feature))
        elif runs and (runs[-1][0].stop, runs[-1][1].stop) == (place, row):
            runs[-1] = slice(runs[-1][0].start, place + 1), slice(runs[-1][1].start, row + 1)
        else:
            runs.append((slice(place, place + 1), slice(row, row + 1)))
    return runs, rest


def chosen(names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features by name.

    Raises:
        UnknownNameError: no such feature; the message offers the nearest.
        InputError: no name at all, or one name twice.
    """
    for name in names:
        if name not in _BY_NAME:
            raise UnknownNameError("feature", name, ALL)
    if not names or len(set(names)) < len(names):
        got = ", ".join(f"`{name}`" for name in names) or "none"
        raise InputError(f"got the features {got}, expected at least one, each once", "leave doubles out")
    return tuple(_BY_NAME[name] for name in names)


def feature_specs(names: Sequence[str] = ALL) -> tuple[str, ...]:
    """Return `name@version` of features: what a bundle lists."""
    return tuple(f"{feature.name}@{feature.version}" for feature in chosen(names))


def names_of(specs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of `name@version` specs, as a bundle lists them.

    Raises:
        UnknownNameError: no such feature.
        InputError: a version that is not ours: the numbers would mean something else.
    """
    names = tuple(spec.partition("@")[0] for spec in specs)
    for spec, known in zip(specs, feature_specs(names), strict=True):
        if spec != known:
            raise InputError(
                f"got the feature `{spec}`, expected `{known}`",
                "use the release of longshore that the policy was trained with, or train it again",
            )
    return names


def feature_hash(names: Sequence[str] = ALL) -> str:
    """Return the SHA-256 of the features' `name@version`, one a line, in hex: order and versions count."""
    return hashlib.sha256("\n".join(feature_specs(names)).encode()).hexdigest()
