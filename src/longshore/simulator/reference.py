"""The slow twin that decides disputes: a plain event loop over the NumPy functions that the oracle has proven.

It shares the words, the filters and the policies with the fast simulator, and nothing of its event loop.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place, remove
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin
from longshore.objectives.base import Objective, Transition
from longshore.policies.base import Policy, choose_node
from longshore.simulator.params import Compiled, Kind


@dataclass
class _Running:
    node: int
    end: float
    devices: Array


@dataclass
class Step:
    """What one step did."""

    kind: Kind
    time: float
    pod: int
    node: int
    """-1 = the pod waits, or the step was no decision."""
    is_decision: bool
    reward: float = 0.0


@dataclass
class Reference:
    """Plays a compiled trace; iterate over `play()`."""

    compiled: Compiled
    policy: Policy
    filters: tuple[str, ...] = filters.UPSTREAM
    lag_seconds: float = 0.0
    objective: Objective | None = None
    arrays: ClusterArrays = field(init=False)
    running: dict[int, _Running] = field(default_factory=dict)
    queue: list[int] = field(default_factory=list)
    """Waiting pods, first come first."""

    def __post_init__(self) -> None:
        self.arrays = self.compiled.params.cluster
        self._index = {name: i for i, name in enumerate(self.compiled.pod_names)}
        self._up = self.compiled.params.is_present.copy()
        self._cordoned = np.zeros_like(self._up)
        self._latency = self.compiled.params.latency_ms[0].copy()
        self._seen = self._latency.copy()
        self._time = 0.0

    def play(self) -> Iterator[Step]:
        """Play the trace to its end."""
        events = list(self.compiled.trace.events)
        while events or self._next_departure() is not None or self._next_scrape() is not None:
            departure = self._next_departure()
            due = min(
                self.running[departure].end if departure is not None else np.inf, events[0].time if events else np.inf
            )
            scrape = self._next_scrape()
            if scrape is not None and scrape <= due:
                self._time, self._seen = scrape, self._latency.copy()
                yield Step(Kind.SCRAPE, self._time, 0, -1, is_decision=False)
                yield from self._retry()
                continue
            if departure is not None and (not events or self.running[departure].end <= events[0].time):
                self._time = self.running[departure].end
                self._take_away(departure)
                yield Step(Kind.DEPART, self._time, departure, -1, is_decision=False)
                yield from self._retry()
                continue
            event = events.pop(0)
            self._time = event.time
            match event:
                case Create(pod=pod):
                    yield self._decide(Kind.CREATE, self._index[pod.key], self._arriving(events))
                case Delete(pod=key):
                    yield from self._delete(self._index[key])
                case NodeFail(node=node) | NodeDrain(node=node):
                    yield from self._empty(node, is_failure=isinstance(event, NodeFail))
                case NodeJoin(node=node):
                    number = self.compiled.encoded.node_index[node]
                    self._up[number], self._cordoned[number] = True, False
                    yield Step(Kind.JOIN, self._time, 0, -1, is_decision=False)
                    yield from self._retry()
                case LatencyChange(latency_ms=changes):
                    for node, milliseconds in changes:
                        self._latency[self.compiled.encoded.node_index[node]] = milliseconds
                    yield Step(Kind.LATENCY, self._time, 0, -1, is_decision=False)
                    yield from self._retry()

    def _next_departure(self) -> int | None:
        ends = [(run.end, pod) for pod, run in self.running.items() if run.end < np.inf]
        return min(ends)[1] if ends else None

    def _next_scrape(self) -> float | None:
        """When readings will next change: at the next scrape, if they are behind."""
        if self.lag_seconds <= 0 or np.array_equal(self._seen, self._latency, equal_nan=True):
            return None
        return float((np.floor(self._time / self.lag_seconds) + 1) * self.lag_seconds)

    def _delete(self, pod: int) -> Iterator[Step]:
        was_running = pod in self.running
        if was_running:
            self._take_away(pod)
        elif pod in self.queue:
            self.queue.remove(pod)
        yield Step(Kind.DELETE, self._time, pod, -1, is_decision=False)
        if was_running:
            yield from self._retry()

    def _empty(self, node: str, *, is_failure: bool) -> Iterator[Step]:
        number = self.compiled.encoded.node_index[node]
        # A node's own pods, a DaemonSet's, stay with it; a node that is away takes nobody else.
        evicted = sorted(pod for pod, run in self.running.items() if run.node == number and self._is_movable(pod))
        for pod in evicted:
            self._take_away(pod)
        self.queue += evicted
        if is_failure:
            self._up[number] = False
        else:
            self._cordoned[number] = True
        yield Step(Kind.FAIL if is_failure else Kind.DRAIN, self._time, 0, -1, is_decision=False)
        yield from self._retry()

    def _is_movable(self, pod: int) -> bool:
        params = self.compiled.params
        return bool(params.cluster.classes.keeps_on[params.pod_class[pod]])

    def _retry(self) -> Iterator[Step]:
        waiting = list(self.queue)
        for number, pod in enumerate(waiting, start=1):
            yield self._decide(Kind.RETRY, pod, waiting[number] if number < len(waiting) else None)

    def _arriving(self, events: list[Event]) -> int | None:
        """Return the pod that arrives next, if it does so now."""
        match events:
            case [Create(time=time, pod=pod), *_] if time == self._time:
                return self._index[pod.key]
        return None

    def _decide(self, kind: Kind, pod: int, behind: int | None) -> Step:
        cluster = self._with_next(behind)
        pod_class = self.compiled.params.pod_class[pod]
        mask = filters.feasible(cluster, pod_class, self.filters) & ~self._cordoned
        node, reward = -1, 0.0
        if mask.any():
            choice = choose_node(self.policy, cluster, pod_class, mask)
            node, devices = int(choice.node), choice.devices
        if node >= 0:
            before = self._true()
            self.arrays = place(self.arrays, pod_class, np.asarray(node), devices)
            if self.objective is not None:
                reward = float(self.objective.reward(Transition(before, self._true(), pod_class, np.asarray(node))))
            end = self._time + float(self.compiled.params.pod_lifetime[pod])
            self.running[pod] = _Running(node, end, devices)
            if pod in self.queue:
                self.queue.remove(pod)
        elif pod not in self.queue:
            self.queue.append(pod)
        return Step(kind, self._time, pod, node, is_decision=True, reward=reward)

    def visible(self) -> ClusterArrays:
        """Return the cluster as the policy sees it."""
        return self._with_latency(self._seen if self.lag_seconds > 0 else self._latency)

    def _with_next(self, behind: int | None) -> ClusterArrays:
        """Return the cluster as the policy sees it, with the class of the pod behind the one to place."""
        cluster = self.visible()
        number = -1 if behind is None else self.compiled.params.pod_class[behind]
        return cluster._replace(state=cluster.state._replace(next_class=np.asarray(number, np.int32)))

    def _true(self) -> ClusterArrays:
        return self._with_latency(self._latency)

    def _with_latency(self, latency_ms: Array) -> ClusterArrays:
        return self.arrays._replace(
            nodes=self.arrays.nodes._replace(is_real=self._up.copy()),
            readings=self.arrays.readings._replace(
                latency_ms=np.nan_to_num(latency_ms, nan=0.0), latency_known=~np.isnan(latency_ms)
            ),
        )

    def _take_away(self, pod: int) -> None:
        run = self.running.pop(pod)
        pod_class = self.compiled.params.pod_class[pod]
        self.arrays = remove(self.arrays, pod_class, np.asarray(run.node), run.devices)
