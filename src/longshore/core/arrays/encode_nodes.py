"""Nodes and their readings as arrays."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from longshore.core.arrays.cluster_arrays import NodeArrays, Readings
from longshore.core.arrays.gpu import WHOLE_GPU_MILLI
from longshore.core.arrays.ops import Array
from longshore.core.arrays.padding import column, matrix
from longshore.core.arrays.power import gpu_watts
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.resources import PODS, amount

HALF_NEAR_MS = 5.0
"""Where a zone counts half as near as one's own: zones of one region are about a millisecond apart, regions tens."""


def node_arrays(
    nodes: Sequence[Node],
    keys: Mapping[str, int],
    resource_names: Sequence[str],
    width: int,
    sizes: tuple[int, int] | None = None,
) -> NodeArrays:
    """Compile nodes.

    Args:
        nodes: what to compile.
        keys: the topology keys that some class reads.
        resource_names: the columns of what nodes have.
        width: rows, padding included.
        sizes: as of `sizes_of`, where these are some nodes of a larger cluster.
    """
    points, most = sizes or sizes_of(nodes)
    allocatable = [dict(node.allocatable) for node in nodes]
    labels = [dict(node.labels) for node in nodes]
    amounts = [[amount(name, have.get(name, 0)) for name in resource_names] for have in allocatable]
    devices = [[WHOLE_GPU_MILLI] * node.gpu_count + [0] * (most - node.gpu_count) for node in nodes]
    return NodeArrays(
        is_real=np.arange(width) < len(nodes),
        allocatable=matrix(amounts, (width, len(resource_names)), np.int64),
        allowed_pods=column([amount(PODS, have.get(PODS, 0)) for have in allocatable], width, np.int64),
        domain=domains(labels, keys, width),
        zone=domains(labels, {ZONE_KEY: 0}, width)[0],
        name_rank=name_ranks([node.name for node in nodes], width),
        gpu_capacity=matrix(devices, (width, most), np.int64),
        gpu_watts=matrix([gpu_watts(node.gpu_model) for node in nodes], (width, 2), np.float64),
        power_curve=matrix(
            [_resampled(node.power.watts_at_load, points) for node in nodes], (width, points), np.float64
        ),
        cost_per_hour=column([node.cost_per_hour for node in nodes], width, np.float64),
        carbon_grams_per_kwh=column([node.carbon_grams_per_kwh for node in nodes], width, np.float64),
    )


def sizes_of(nodes: Sequence[Node]) -> tuple[int, int]:
    """Return the points of the longest power curve and the most GPU devices: the widths of all rows."""
    return max((len(node.power.watts_at_load) for node in nodes), default=2), num_devices(nodes)


def name_ranks(names: Sequence[str], width: int) -> Array:
    """Return the position of every name in the order of names, int32 [nodes]; padding comes last."""
    order = sorted(range(len(names)), key=names.__getitem__)
    return column(np.argsort(order).tolist(), width, np.int32, fill=width)


def num_devices(nodes: Sequence[Node]) -> int:
    """Return the most GPU devices that a node has."""
    return max((node.gpu_count for node in nodes), default=0)


def reading_arrays(nodes: Sequence[Node], width: int, measured: Sequence[NodeReadings] | None = None) -> Readings:
    """Compile what was measured; None = what the nodes say themselves."""
    measured = [node.readings for node in nodes] if measured is None else measured
    return Readings._make([*reading_columns(measured, width), zone_near(nodes, measured, width)])


def reading_columns(measured: Sequence[NodeReadings], width: int) -> list[Array]:
    """Return the fields of `Readings` that are about the node alone, in their order."""
    columns = (
        [reading.latency_ms for reading in measured],
        [reading.connections for reading in measured],
        [reading.traffic_bytes_per_second for reading in measured],
        [reading.cpu_ratio for reading in measured],
        [reading.watts for reading in measured],
    )
    pairs = [
        (column([v or 0.0 for v in values], width, np.float64), column([v is not None for v in values], width, bool))
        for values in ([_finite(value) for value in measurements] for measurements in columns)
    ]
    return [array for pair in pairs for array in pair]


def zone_near(nodes: Sequence[Node], measured: Sequence[NodeReadings], width: int) -> Array:
    """Return how near the zones are, in columns as far as one was measured; none at all where nobody measures.

    As nearness and not as milliseconds: it is computed once and not for every decision, and zeros may be appended.
    """
    if not any(readings.zone_latency_ms for readings in measured):
        return np.zeros((width, 0), np.float32)
    labels = [dict(node.labels) for node in nodes]
    own = domains(labels, {ZONE_KEY: 0}, width)[0].tolist()
    zones = (have.get(ZONE_KEY) for have in labels)
    numbers = {name: number for name, number in zip(zones, own, strict=False) if name is not None}
    links = [
        (row, numbers[zone], HALF_NEAR_MS / (HALF_NEAR_MS + milliseconds))
        for row, readings in enumerate(measured)
        for zone, milliseconds in readings.zone_latency_ms
        if numbers.get(zone, own[row]) != own[row] and 0 <= milliseconds < math.inf
    ]
    near = np.zeros((width, max((column for _, column, _ in links), default=-1) + 1), np.float32)
    for row, zone_column, value in links:
        near[row, zone_column] = value
    return near


def _finite(value: float | None) -> float | None:
    """Take a reading that is no number for one that is not known: a probe that divides by zero tells nothing."""
    return value if value is not None and math.isfinite(value) else None


def domains(labels: Sequence[Mapping[str, str]], keys: Mapping[str, int], width: int) -> Array:
    """Number the values that nodes' labels have of every key, from 2 on without gaps, int32 [keys, nodes]."""
    domain = np.zeros((max(len(keys), 1), width), np.int32)
    for key, row in keys.items():
        numbers = {"": 1}
        domain[row, : len(labels)] = [
            numbers.setdefault(have[key], len(numbers) + 1) if key in have else 0 for have in labels
        ]
    return domain


@lru_cache(maxsize=1024)  # a cluster has few kinds of machines
def _resampled(curve: tuple[float, ...], points: int) -> list[float]:
    return [float(watts) for watts in np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(curve)), curve)]
