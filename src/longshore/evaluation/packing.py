"""Packing as a problem: how much pods ask for, what nodes hold, where pods may go, what nodes draw.

Constraints between pods (spread, affinity, ports), GPUs and latency limits are left out: without them pods can only be
packed better, so what is least here is a lower bound there. `packing_bounds.py` and `packing_milp.py` solve it.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import CPU_COLUMN

if TYPE_CHECKING:
    from longshore.simulator.params import Compiled  # it brings JAX along, which `savings` has no use for


class Packing(NamedTuple):
    """Kinds of pods that are alike for packing, and the nodes; the last resource is the number of pods."""

    request: Array  # [groups, resources] int64
    allowed: Array  # [groups, nodes] bool; by labels, taints, names, volumes and size
    capacity: Array  # [nodes, resources] int64
    power_curve: Array  # [nodes, points] float64 watts at even steps of CPU use
    group_of_pod: Array  # [pods] int64; -1 = it fits no node even when it is empty, or keeps none on
    is_whole: bool
    """False: packing leaves out constraints of some pods, or what DaemonSets take, so that its optimum may be out of
    reach."""


def make_packing(compiled: "Compiled") -> Packing:
    """Read the packing problem of a trace from its arrays."""
    cluster = compiled.params.cluster
    request = np.column_stack([cluster.classes.request, np.ones(len(cluster.classes.request), np.int64)])
    capacity = np.column_stack([cluster.nodes.allocatable, cluster.nodes.allowed_pods])
    fits = ((request[:, None, :] <= capacity[None, :, :]) | (request[:, None, :] == 0)).all(axis=2)
    allowed = static_mask(cluster) & fits
    rows, group_of_class = np.unique(np.column_stack([request, allowed]), axis=0, return_inverse=True)
    width = request.shape[1]
    is_packed = allowed.any(axis=1) & (cluster.classes.keeps_on > 0)
    group_of_class = np.where(is_packed, group_of_class.reshape(-1), -1)
    pods = compiled.params.pod_class[: len(compiled.pod_names)]
    return Packing(
        request=rows[:, :width],
        allowed=rows[:, width:].astype(bool),
        capacity=capacity,
        power_curve=cluster.nodes.power_curve,
        group_of_pod=group_of_class[pods],
        is_whole=not has_pod_terms(cluster.classes)
        and not cluster.classes.gpu_milli.any()
        and bool(cluster.classes.keeps_on.all()),
    )


def static_mask(cluster: ClusterArrays, names: tuple[str, ...] = filters.UPSTREAM) -> Array:
    """Say where each class may go as far as that never changes [classes, nodes]."""
    every = np.arange(len(cluster.classes.request))
    allowed = np.broadcast_to(cluster.nodes.is_real, (len(every), len(cluster.nodes.is_real)))
    for _, unit in filters.load(names):
        if unit.static is not None:
            allowed = allowed & unit.static.mask(cluster, every)
    return allowed


def has_pod_terms(classes: ClassArrays) -> bool:
    """Say whether any class has a hard constraint about other pods."""
    tables = (
        classes.ports,
        classes.hard_spread.query,
        classes.affinity.query,
        classes.anti_affinity.query,
        classes.repelled_by.query,
    )
    # A spread or affinity term may have query 0 (it counts nothing) and still reject nodes without its key.
    return any(table.shape[1] > 0 for table in tables)


class PowerLines(NamedTuple):
    """Straight lines that no node's curve is below: watts >= base + slope · CPU millis, for nodes that are on."""

    base: Array  # [nodes] float64; what an empty node draws
    slope: Array  # [nodes] float64 watts per CPU milli above the base
    share: Array  # [nodes] float64 watts per CPU milli from zero: watts >= share · CPU millis


def power_lines(packing: Packing) -> PowerLines:
    """Find the steepest such lines; on a curve of straight pieces they touch it at a point of the curve."""
    curve = packing.power_curve
    cpu = np.maximum(packing.capacity[:, CPU_COLUMN], 1).astype(np.float64)
    if curve.shape[1] == 1:
        zero = np.zeros(len(curve))
        return PowerLines(curve[:, 0], zero, curve[:, 0] / cpu)
    millis = np.arange(1, curve.shape[1]) / (curve.shape[1] - 1) * cpu[:, None]
    return PowerLines(
        base=curve[:, 0],
        slope=((curve[:, 1:] - curve[:, :1]) / millis).min(axis=1),
        share=(curve[:, 1:] / millis).min(axis=1),
    )
