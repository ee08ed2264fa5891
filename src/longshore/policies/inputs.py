"""What a learned policy reads: the cluster and the pod as a network's inputs, the same for training and for deciding.

In: the cluster as the policy sees it, the pod's class, where it may go. Out: `network.forward.Inputs`. NumPy when live,
JAX when trained; the numbers agree, so that a policy meets in a cluster what it met in training.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.choose import TIE_TOLERANCE
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.features import features as compute_features
from longshore.core.arrays.gpu import WHOLE_GPU_MILLI, wanted
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import CPU_COLUMN
from longshore.core.network.bundle import LOAD_SCALE, LoadScale
from longshore.core.network.forward import LOAD, POD_KIND, POD_KINDS, Inputs, Op, reads
from longshore.policies.base import Policy

LAST_PLACE = 8
"""Places by a heuristic are counted so far; what comes later, and what is infeasible, is all in this one."""

_KINDS_FROM_MILLI = (1, *(quarter * WHOLE_GPU_MILLI // 4 for quarter in (1, 2, 3, 4)))
_KINDS_FROM_COUNT = (2, 3, 5)
"""From how much on a pod is of the next kind of `network.forward.POD_KINDS`."""
_NOT_READ = np.zeros(0, np.float32)


class Reads(NamedTuple):
    """What a network reads beside the rows, of all that takes NumPy time; JAX leaves out by itself what is not read."""

    app: bool = True
    pod_kind: bool = True
    load: LoadScale | None = LOAD_SCALE
    """How `load` is measured; None = it is not read."""

    @classmethod
    def of(cls, ops: Sequence[Op], load: LoadScale | None) -> "Reads":
        """Look at what operations read."""
        return cls(any(op.kind == "mean_app" for op in ops), reads(ops, POD_KIND), load if reads(ops, LOAD) else None)


READS_ALL = Reads()


def policy_inputs(
    arrays: ClusterArrays,
    pod_class: Array,
    feasible: Array,
    features: Sequence[str],
    prior: Policy | None,
    preference: Array,
) -> Inputs:
    """Return what a network is told about one cluster and one pod.

    Args:
        arrays: the cluster as the policy sees it; NumPy or JAX.
        pod_class: of the pod to place.
        feasible: where it may go [nodes].
        features: names, in the order of the columns.
        prior: the heuristic that a hybrid policy corrects; without one `prior` is [nodes, 0].
        preference: weights of the objective's terms [terms]; [0] where the policy has no such dial.
    """
    rows = compute_features(arrays, pod_class, feasible, features)
    return with_rows(rows, arrays, pod_class, feasible, prior, preference)


def with_rows(
    rows: Array,
    arrays: ClusterArrays,
    pod_class: Array,
    feasible: Array,
    prior: Policy | None,
    preference: Array,
    read: Reads = READS_ALL,
) -> Inputs:
    """Return the inputs of a network whose feature rows are already computed.

    Args:
        rows: the features [nodes, features].
        arrays, pod_class, feasible, prior, preference: as for `policy_inputs`.
        read: the other inputs that the network reads; the rest is left out.
    """
    xp = namespace(feasible)
    return Inputs(
        rows=rows,
        is_real=arrays.nodes.is_real,
        zone=arrays.nodes.zone,
        app=_pods_of_same_app(arrays, pod_class) if read.app else _NOT_READ,
        near=arrays.readings.zone_near,
        prior=_prior(arrays, pod_class, feasible, prior),
        preference=xp.asarray(preference, xp.float32),
        pod_kind=pod_kind(arrays, pod_class) if read.pod_kind else _NOT_READ,
        load=_NOT_READ if read.load is None else load(arrays, read.load),
    )


def own_inputs(rows: Array, arrays: ClusterArrays, pod_class: Array, preference: Array) -> Inputs:
    """Return what a network is told that reads nothing but the nodes' own rows [rows, features]."""
    xp = namespace(rows)
    none = xp.zeros((rows.shape[0], 0), xp.float32)
    return Inputs(
        rows=rows,
        is_real=xp.ones(rows.shape[0], bool),
        zone=xp.zeros(rows.shape[0], xp.int32),
        app=xp.zeros(rows.shape[0], xp.float32),
        near=none,
        prior=none,
        preference=xp.asarray(preference, xp.float32),
        pod_kind=pod_kind(arrays, pod_class),
    )


def pod_kind(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return 1 for the pod's kind of `network.forward.POD_KINDS`, 0 for the others, float32 [..., kinds]."""
    xp = namespace(arrays.state.gpu_used)
    milli, count = wanted(arrays, pod_class)
    by_milli = (milli[..., None] >= xp.asarray(_KINDS_FROM_MILLI)).sum(axis=-1)
    by_count = (count[..., None] >= xp.asarray(_KINDS_FROM_COUNT)).sum(axis=-1)
    kind = xp.where(count > 1, len(_KINDS_FROM_MILLI) + by_count, by_milli)
    return (kind[..., None] == xp.arange(len(POD_KINDS))).astype(xp.float32)


def load(arrays: ClusterArrays, by: LoadScale) -> Array:
    """Return how much the cluster is like each of `network.forward.LOADS`, float32 [3]; without GPUs it is empty.

    Only nodes with GPUs count. Padding rows of the arrays, which are no nodes, do not.
    """
    xp = namespace(arrays.state.gpu_used)
    nodes, state = arrays.nodes, arrays.state
    milli = xp.where(nodes.is_real, nodes.gpu_capacity.sum(axis=1), 0)
    used = state.gpu_used.sum() / xp.maximum(milli.sum(), 1)
    have = xp.where(milli > 0, nodes.allocatable[:, CPU_COLUMN], 0).sum()
    cpu_used = xp.where(milli > 0, state.requested[:, CPU_COLUMN], 0).sum() / xp.maximum(have, 1)
    for_each = (cpu_used + by.cpu_beforehand) / (used + by.gpus_beforehand)
    scarce = xp.clip((for_each - by.scarce_from) / by.scarce_over, 0, 1)
    scarce = scarce * xp.minimum(used / by.little_below, 1)
    return xp.stack([1 - used, used, scarce]).astype(xp.float32)


def places(scores: Array, feasible: Array) -> Array:
    """Return minus the node's place by `scores` among the feasible nodes, float32 [nodes]: 0, -1, … `-LAST_PLACE`.

    Scores that tie share a place, by the rule of `arrays.choose`: so a policy that scores by the place alone chooses as
    the heuristic does, ties included.
    """
    xp = namespace(feasible)
    worth = xp.where(feasible & ~xp.isnan(scores), scores, -xp.inf)
    place = xp.full(feasible.shape, -LAST_PLACE, xp.float32)
    left = feasible
    # One pass for each place that counts: cheaper than to sort, and a group is what ties with its own best.
    for number in range(LAST_PLACE):
        best = xp.where(left, worth, -xp.inf).max()
        tied = left & (worth >= best - TIE_TOLERANCE)
        place = xp.where(tied, xp.float32(-number), place)
        left = left & ~tied
    return place


@lru_cache(maxsize=8)
def _no_prior(nodes: int) -> Array:
    return np.zeros((nodes, 0), np.float32)


def _prior(arrays: ClusterArrays, pod_class: Array, feasible: Array, prior: Policy | None) -> Array:
    if prior is None:
        xp = namespace(feasible)
        return _no_prior(feasible.shape[0]) if xp is np else xp.zeros((feasible.shape[0], 0), xp.float32)
    return places(prior.score(arrays, pod_class, feasible), feasible)[:, None]


def _pods_of_same_app(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Count, on every node, the pods that the first soft spread term selects: those of the same owner or service."""
    xp = namespace(arrays.state.counts)
    terms = arrays.classes.soft_spread.query
    if terms.shape[1] == 0:
        return xp.zeros(arrays.nodes.is_real.shape, xp.float32)
    query = terms[pod_class, 0]
    return xp.where(query > 0, arrays.state.counts[query], 0).astype(xp.float32)
