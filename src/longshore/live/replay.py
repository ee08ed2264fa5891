"""What happened in a live cluster, measured as the simulator measures: the same arrays, the same metrics.

Every pod is put on the arrays when it was seen bound and taken away when it was gone; after each step the cluster is
measured. What comes out is a `Series`, as of `longshore simulate`, so that live and simulated runs stand side by side.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from longshore import filters
from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place, remove
from longshore.core.arrays.power import cluster_cost, cluster_watts
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, LatencyChange, NodeDrain, NodeFail, NodeJoin
from longshore.evaluation.metrics import make_runs
from longshore.evaluation.series import Series, make_series
from longshore.live.recording import Happened, PodBound, PodGone, Recording
from longshore.objectives.base import Objective, Transition
from longshore.objectives.weighted import parse_objective
from longshore.simulator.params import Compiled, Kind, compile_trace
from longshore.simulator.rollout import Measured, cpu_variance
from longshore.simulator.state import StepTaken


class Waits(NamedTuple):
    """How long pods waited from being created to being bound, in seconds; nan where none was bound."""

    mean: float
    p50: float
    p99: float
    most: float


def replay(recording: Recording, workload: str, policy: str, objective: str = "el-rl", seed: int = 0) -> Series:
    """Measure a recording; `workload` and `policy` are what it is called and who placed the pods.

    Raises:
        InputError: nothing was recorded.
    """
    if not any(isinstance(one, Create) for one in recording.happened):
        raise InputError("no pod was seen", "let the recording run until pods have been created")
    compiled = compile_trace(recording.trace, seed=seed)
    steps = list(_Replay(compiled, parse_objective(objective)).play(recording.happened))
    columns = [np.stack(column)[None, None] for column in zip(*(_leaves(step) for step in steps), strict=True)]
    width = len(StepTaken._fields)
    measured = Measured(StepTaken(*columns[:width]), *columns[width:])
    return make_series(workload, objective, policy, seed, compiled, make_runs([compiled], measured))


def waiting_seconds(recording: Recording, speed: float = 1.0) -> Waits:
    """Work out how long pods waited, in real seconds where the recording's own run `speed` times as fast."""
    created: dict[str, float] = {}
    waits = []
    for one in recording.happened:
        if isinstance(one, Create):
            created[one.pod.key] = one.time
        elif isinstance(one, PodBound):
            waits.append((one.time - created[one.pod]) / speed)
    if not waits:
        return Waits(*[float("nan")] * 4)
    median, high = np.quantile(waits, [0.5, 0.99], method="inverted_cdf")
    return Waits(float(np.mean(waits)), float(median), float(high), float(np.max(waits)))


def _leaves(step: Measured) -> list[Array]:
    return [np.asarray(leaf) for leaf in (*step.outcome, *step[1:])]


class _Replay:
    """The cluster, as it was after each happening."""

    def __init__(self, compiled: Compiled, objective: Objective) -> None:
        self._compiled, self._objective = compiled, objective
        self._arrays: ClusterArrays = compiled.params.cluster
        self._pods = {name: number for number, name in enumerate(compiled.pod_names)}
        self._is_up = compiled.params.is_present.copy()
        self._latency = compiled.params.latency_ms[0].copy()
        self._placed: dict[int, tuple[int, Array]] = {}
        self._waiting: set[int] = set()

    def play(self, happened: tuple[Happened, ...]) -> Iterator[Measured]:
        """Yield the measurements after each happening."""
        nodes = self._compiled.encoded.node_index
        for one in happened:
            match one:
                case Create(time, pod):
                    self._waiting.add(self._pods[pod.key])
                    yield self._measure(Kind.CREATE, time, self._pods[pod.key])
                case PodBound(time, key, node):
                    if node in nodes:
                        yield self._place(time, self._pods[key], nodes[node])
                case PodGone(time, key, is_finished):
                    self._take_away(self._pods[key])
                    yield self._measure(Kind.DEPART if is_finished else Kind.DELETE, time, self._pods[key])
                case NodeFail(time, node):
                    self._is_up[nodes[node]] = False
                    yield self._measure(Kind.FAIL, time)
                case NodeDrain(time):
                    yield self._measure(Kind.DRAIN, time)
                case NodeJoin(time, node):
                    self._is_up[nodes[node]] = True
                    yield self._measure(Kind.JOIN, time)
                case LatencyChange(time, changes):
                    for node, milliseconds in changes:
                        self._latency[nodes[node]] = milliseconds
                    yield self._measure(Kind.LATENCY, time)

    def _place(self, time: float, pod: int, node: int) -> Measured:
        before = self._cluster()
        pod_class = self._compiled.params.pod_class[pod]
        num_feasible = int(filters.feasible(before, pod_class, filters.UPSTREAM).sum())
        devices = gpu.best_fit(before, pod_class)[node]
        self._arrays = place(self._arrays, pod_class, np.asarray(node), devices)
        self._placed[pod] = (node, devices)
        self._waiting.discard(pod)
        change = Transition(before, self._cluster(), pod_class, np.asarray(node))
        return self._measure(Kind.RETRY, time, pod, node, num_feasible, float(self._objective.reward(change)))

    def _take_away(self, pod: int) -> None:
        self._waiting.discard(pod)
        placed = self._placed.pop(pod, None)
        if placed is not None:
            node, devices = placed
            pod_class = self._compiled.params.pod_class[pod]
            self._arrays = remove(self._arrays, pod_class, np.asarray(node), devices)

    def _cluster(self) -> ClusterArrays:
        latency = self._latency
        return self._arrays._replace(
            nodes=self._arrays.nodes._replace(is_real=self._is_up.copy()),
            readings=self._arrays.readings._replace(
                latency_ms=np.nan_to_num(latency, nan=0.0), latency_known=~np.isnan(latency)
            ),
        )

    def _measure(
        self, kind: Kind, time: float, pod: int = 0, node: int = -1, feasible: int = 0, reward: float = 0.0
    ) -> Measured:
        cluster = self._cluster()
        classes, pod_class = cluster.classes, self._compiled.params.pod_class[pod]
        is_placed = node >= 0
        latency = float(self._latency[node]) if is_placed else np.nan
        outcome = StepTaken(
            kind=np.int32(kind),
            time=np.float64(time),
            pod=np.int32(pod),
            node=np.int32(node),
            is_decision=np.bool_(is_placed),
            feasible=np.int32(feasible),
        )
        return Measured(
            outcome=outcome,
            reward=np.float64(reward),
            latency_ms=np.float64(latency),
            is_beyond_limit=np.bool_(is_placed and latency > classes.latency_hard_ms[pod_class]),
            is_beyond_soft=np.bool_(is_placed and latency > classes.latency_soft_ms[pod_class]),
            switched_on=np.bool_(is_placed and classes.keeps_on[pod_class] > 0 and cluster.state.keeping[node] == 1),
            active_nodes=np.int32(is_on(cluster).sum()),
            cpu_variance=np.float64(cpu_variance(cluster, self._is_up)),
            watts_idle_on=np.float64(cluster_watts(cluster, switch_off_idle=False)),
            watts_idle_off=np.float64(cluster_watts(cluster, switch_off_idle=True)),
            cost_per_hour=np.float64(cluster_cost(cluster)),
            running=np.int32(len(self._placed)),
            waiting=np.int32(len(self._waiting)),
            pods_per_node=np.where(self._is_up, cluster.state.pod_count, 0).astype(np.int32),
        )
