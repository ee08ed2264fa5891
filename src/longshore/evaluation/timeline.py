"""What happens in a trace whoever schedules: which pods exist at each moment if none waits, and which nodes.

The window over which everything is measured comes from here too, so that policies and bounds are measured alike.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.simulator.params import Compiled

# Moments whose pods are counted at once: large enough for NumPy, small enough for memory with thousands of kinds.
_CHUNK = 512


class Window(NamedTuple):
    """When measuring starts and ends, in seconds."""

    start: float
    end: float


class Departure(NamedTuple):
    """A pod's lifetime is over."""

    time: float
    pod: str


def window(trace: Trace) -> Window:
    """Return from the first event to the trace's end; without one, to the last event and the last pod that leaves.

    The end does not depend on the policy: where pods wait, the last may leave after it and is not seen leaving.
    """
    if not trace.events:
        return Window(0.0, trace.end or 0.0)
    if trace.end is not None:
        return Window(min(trace.events[0].time, trace.end), trace.end)
    ends = [event.time + (event.lifetime or 0.0) for event in trace.events if isinstance(event, Create)]
    return Window(trace.events[0].time, max([trace.events[-1].time, *ends]))


def happenings(trace: Trace) -> Iterator[Event | Departure]:
    """Yield the events and the departures of pods that are placed as they arrive, in the simulator's order."""
    leaving: list[tuple[float, int, str]] = []
    for number, event in enumerate(trace.events):
        while leaving and leaving[0][0] <= event.time:
            yield Departure(leaving[0][0], heapq.heappop(leaving)[2])
        yield event
        if isinstance(event, Create) and event.lifetime is not None:
            heapq.heappush(leaving, (event.time + event.lifetime, number, event.pod.key))
    while leaving:
        yield Departure(leaving[0][0], heapq.heappop(leaving)[2])


@dataclass(frozen=True, eq=False)
class Timeline:
    """The moments of a trace at which pods or nodes change."""

    time: Array  # [moments] float64, ascending; the first is the window's start
    seconds: Array  # [moments] float64 until the next moment, cut at the window's end
    is_up: Array  # [moments, nodes] bool; the node exists
    takes_pods: Array  # [moments, nodes] bool; it is up and not cordoned
    change_moment: Array  # [changes] int64, ascending
    change_pod: Array  # [changes] int64
    change_sign: Array  # [changes] int64; 1 = the pod comes, -1 = it goes

    def counts(self, group_of_pod: Array, num_groups: int) -> Iterator[tuple[slice, Array]]:
        """Yield how many pods of each group exist [moments, groups], some moments at a time.

        Args:
            group_of_pod: [pods]; -1 = not counted.
            num_groups: how many groups there are.
        """
        group = group_of_pod[self.change_pod]
        standing = np.zeros(num_groups, np.int64)
        for first in range(0, len(self.time), _CHUNK):
            part = slice(first, min(first + _CHUNK, len(self.time)))
            inside = (self.change_moment >= part.start) & (self.change_moment < part.stop) & (group >= 0)
            changes = np.zeros((part.stop - part.start, num_groups), np.int64)
            np.add.at(changes, (self.change_moment[inside] - first, group[inside]), self.change_sign[inside])
            counted = standing + np.cumsum(changes, axis=0)
            standing = counted[-1]
            yield part, counted


def timeline(compiled: Compiled) -> Timeline:
    """Work out when pods come and go if none waits.

    A pod whose node fails starts again at once and then runs longer than here; it is there at least as long as here.
    """
    trace, measured = compiled.trace, window(compiled.trace)
    index = {name: number for number, name in enumerate(compiled.pod_names)}
    nodes = _Nodes(compiled)
    times, up, takes = [measured.start], [nodes.is_up.copy()], [nodes.takes_pods()]
    changes: list[tuple[int, int, int]] = []
    alive: set[int] = set()
    for event in happenings(trace):
        if event.time > measured.end:
            break
        if event.time > times[-1]:
            times.append(event.time)
            up.append(nodes.is_up.copy())
            takes.append(nodes.takes_pods())
        match event:
            case Create(pod=pod):
                alive.add(index[pod.key])
                changes.append((len(times) - 1, index[pod.key], 1))
            case Delete(pod=key) | Departure(pod=key):
                if index[key] in alive:
                    alive.remove(index[key])
                    changes.append((len(times) - 1, index[key], -1))
            case _:
                nodes.apply(event)
                up[-1], takes[-1] = nodes.is_up.copy(), nodes.takes_pods()
    seconds = np.diff([*times, max(measured.end, times[-1])])
    moment, pod_number, sign = np.array(changes, np.int64).reshape(-1, 3).T
    return Timeline(np.array(times), seconds, np.array(up), np.array(takes), moment, pod_number, sign)


class _Nodes:
    """Which nodes are there and take pods."""

    def __init__(self, compiled: Compiled) -> None:
        self.index = compiled.encoded.node_index
        self.is_up: Array = np.asarray(compiled.params.is_present & compiled.params.cluster.nodes.is_real)
        self._is_cordoned = np.zeros_like(self.is_up)

    def takes_pods(self) -> Array:
        return self.is_up & ~self._is_cordoned

    def apply(self, event: Event | Departure) -> None:
        match event:
            case NodeFail(node=node):
                self.is_up[self.index[node]] = False
            case NodeDrain(node=node):
                self._is_cordoned[self.index[node]] = True
            case NodeJoin(node=node):
                self.is_up[self.index[node]], self._is_cordoned[self.index[node]] = True, False
            case LatencyChange() | Create() | Delete() | Departure():
                pass
