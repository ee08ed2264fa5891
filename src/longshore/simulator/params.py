"""A trace compiled to data: what one compiled program plays, whatever the cluster or the pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded, encode
from longshore.core.arrays.ops import Array
from longshore.core.arrays.padding import column, matrix
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.filters import static_parts


class Kind(IntEnum):
    """What a step is about."""

    IDLE = 0
    """Nothing is left to happen; also the padding of the event list."""
    CREATE = 1
    DELETE = 2
    FAIL = 3
    DRAIN = 4
    JOIN = 5
    LATENCY = 6
    DEPART = 7
    """A pod's lifetime is over."""
    RETRY = 8
    """A waiting pod is tried again after something changed."""
    SCRAPE = 9
    """Readings that lag catch up with what is."""


class SimParams(NamedTuple):
    """All that a simulation reads and never changes."""

    cluster: ClusterArrays  # every node, every class; its state is the empty cluster
    is_present: Array  # [nodes] bool; there at the start
    event_time: Array  # [events] float64, ascending; inf = padding
    event_kind: Array  # [events] int32
    event_pod: Array  # [events] int32
    event_node: Array  # [events] int32
    event_row: Array  # [events] int32; row of `latency_ms`
    latency_ms: Array  # [rows, nodes] float64; row 0 = at the start, nan = not known
    pod_class: Array  # [pods] int32
    pod_lifetime: Array  # [pods] float64; inf = until deleted
    lag_seconds: Array  # [] float64; 0 = readings are always fresh


@dataclass(frozen=True)
class Compiled:
    """A compiled trace with its names."""

    params: SimParams
    encoded: Encoded
    trace: Trace
    pod_names: tuple[str, ...]


def compile_trace(
    trace: Trace,
    *,
    lag_seconds: float = 0.0,
    seed: int = 0,
    padded_nodes: int | None = None,
    padded_pods: int | None = None,
    padded_events: int | None = None,
) -> Compiled:
    """Compile a trace; padding lets traces of different sizes share one compiled program.

    Raises:
        InputError: an event names a pod or node that the trace does not have, or is out of order.
    """
    if not trace.nodes:
        raise InputError("the trace has no node", "a trace needs a node and a pod to play")
    if not 0 <= lag_seconds < np.inf:
        raise InputError(f"got a lag of {lag_seconds} s, expected a number of 0 or more")
    encoded = encode(trace.snapshot(), static_parts(), seed=seed % 2**32, padded_nodes=padded_nodes)
    creates = [event for event in trace.events if isinstance(event, Create)]
    pods = {event.pod.key: i for i, event in enumerate(creates)}
    _check(trace, pods, encoded.node_index)
    num_pods, num_events = padded_pods or max(len(creates), 1), padded_events or max(len(trace.events), 1)
    width = len(encoded.arrays.nodes.is_real)
    rows, row_of = _latency_rows(trace, encoded)
    lifetimes = [np.inf if event.lifetime is None else event.lifetime for event in creates]
    present = [node.name not in trace.absent for node in trace.nodes]
    params = SimParams(
        cluster=encoded.arrays,
        is_present=column(present, width, bool),
        event_time=column([event.time for event in trace.events], num_events, np.float64, fill=np.inf),
        event_kind=column([_KINDS[type(event)] for event in trace.events], num_events, np.int32),
        event_pod=column([_pod_of(event, pods) for event in trace.events], num_events, np.int32),
        event_node=column([_node_of(event, encoded) for event in trace.events], num_events, np.int32),
        event_row=column(row_of, num_events, np.int32),
        latency_ms=matrix(rows, (len(rows), width), np.float64),
        pod_class=column([encoded.class_of(event.pod) for event in creates], num_pods, np.int32),
        pod_lifetime=column(lifetimes, num_pods, np.float64, fill=np.inf),
        lag_seconds=np.array(lag_seconds, np.float64),
    )
    return Compiled(params, encoded, trace, tuple(pods))


_KINDS: dict[type, Kind] = {
    Create: Kind.CREATE,
    Delete: Kind.DELETE,
    NodeFail: Kind.FAIL,
    NodeDrain: Kind.DRAIN,
    NodeJoin: Kind.JOIN,
    LatencyChange: Kind.LATENCY,
}


def _pod_of(event: Event, pods: dict[str, int]) -> int:
    if isinstance(event, Create):
        return pods[event.pod.key]
    return pods[event.pod] if isinstance(event, Delete) else 0


def _node_of(event: Event, encoded: Encoded) -> int:
    return encoded.node_index[event.node] if isinstance(event, NodeFail | NodeDrain | NodeJoin) else 0


def _latency_rows(trace: Trace, encoded: Encoded) -> tuple[list[list[float]], list[int]]:
    """Return the latency of every node after each change, and each event's row."""
    readings = encoded.arrays.readings
    at_start = np.where(readings.latency_known, readings.latency_ms, np.nan)
    rows = [at_start[: len(trace.nodes)].tolist()]
    row_of = []
    for event in trace.events:
        if isinstance(event, LatencyChange):
            changed = list(rows[-1])
            for node, milliseconds in event.latency_ms:
                changed[encoded.node_index[node]] = milliseconds
            rows.append(changed)
        row_of.append(len(rows) - 1)
    return rows, row_of


def _check(trace: Trace, pods: Mapping[str, int], nodes: Mapping[str, int]) -> None:
    last, created = -np.inf, set[str]()
    for number, event in enumerate(trace.events):
        if not last <= event.time < np.inf:
            raise InputError(f"event {number}: time {event.time} comes after {last}", "events must be in order of time")
        last = event.time
        if isinstance(event, Create):
            created.add(event.pod.key)
        if isinstance(event, Delete) and event.pod not in created:
            raise InputError(f"event {number}: deletes `{event.pod}`, which was not created before it")
        named = [event.node] if isinstance(event, NodeFail | NodeDrain | NodeJoin) else []
        named += [node for node, _ in event.latency_ms] if isinstance(event, LatencyChange) else []
        for node in named:
            if node not in nodes:
                raise InputError(f"event {number}: names the node `{node}`, which the trace does not have")
    if len(pods) != sum(isinstance(event, Create) for event in trace.events):
        raise InputError("a pod is created twice", "give every pod of a trace its own name")
