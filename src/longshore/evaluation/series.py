"""One run over time: what a plot of pods per node, active nodes, latency, watts and waiting pods needs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.assumed import announcements
from longshore.core.words.trace import Trace
from longshore.deciding.find import find_policy
from longshore.evaluation.metrics import Runs, assumed_metrics, is_success, make_runs, measure_all
from longshore.evaluation.timeline import window
from longshore.filters import filter_set
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.policies.base import Policy
from longshore.simulator.objective import checked_objective
from longshore.simulator.params import Compiled, Kind
from longshore.simulator.play import compile_traces, play
from longshore.workloads.build import build_workload

SUCCESS_PODS = 30
"""Pods over which the thesis' dashboard counts successes."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One decision of a run."""

    time: float
    """Seconds."""
    pod: str
    """`namespace/name`."""
    node: str | None
    """None = the pod waits."""


@dataclass(frozen=True, eq=False)
class Series:
    """A run, step by step; each row holds until the next row's time."""

    workload: str
    policy: str
    objective: str
    seed: int
    start: float
    """Seconds."""
    end: float
    node_names: tuple[str, ...]
    times: Array  # [steps] float64 seconds, ascending
    kinds: tuple[str, ...]  # [steps]; names of `simulator.params.Kind`, lower case
    pods_per_node: Array  # [steps, nodes] int32
    active_nodes: Array  # [steps] int32
    latency_ms: Array  # [steps] float64; nan unless a pod was placed on a node with a reading
    cpu_variance: Array  # [steps] float64
    watts: Array  # [steps] float64
    watts_idle_off: Array  # [steps] float64
    running: Array  # [steps] int32 pods
    waiting: Array  # [steps] int32 pods
    reward: Array  # [steps] float64; 0 unless a pod was placed
    is_placed: Array  # [steps] bool
    is_success: Array  # [steps] bool; see the metric `success_rate`
    metrics: Mapping[str, float]
    """The run in numbers."""
    assumed: tuple[str, ...] = ()
    """Metrics that rest on watts or prices that nobody gave."""
    assumptions: tuple[str, ...] = ()
    """What was assumed instead, in sentences."""
    decisions: tuple[Placement, ...] = ()
    """Every decision in order, also those that left the pod waiting."""

    def success_per_block(self, size: int = SUCCESS_PODS) -> Array:
        """Return the share of successes in every `size` placements, the last block perhaps of fewer."""
        success = self.is_success[self.is_placed].astype(np.float64)
        return np.array([success[i : i + size].mean() for i in range(0, len(success), size)])

    def to_json(self) -> dict[str, object]:
        """Return the series as plain values; what is not known is null."""
        arrays = ("active_nodes", "cpu_variance", "watts", "watts_idle_off", "running", "waiting", "reward")
        return {
            "schema": 1,
            "workload": self.workload,
            "policy": self.policy,
            "objective": self.objective,
            "seed": self.seed,
            "start": self.start,
            "end": self.end,
            "nodes": list(self.node_names),
            "metrics": {name: number_or_none(value) for name, value in self.metrics.items()},
            "assumed": list(self.assumed),
            "assumptions": list(self.assumptions),
            "times": self.times.tolist(),
            "kinds": list(self.kinds),
            "pods_per_node": self.pods_per_node.tolist(),
            "latency_ms": [number_or_none(value) for value in self.latency_ms.tolist()],
            "is_placed": self.is_placed.tolist(),
            "is_success": self.is_success.tolist(),
            "decisions": [asdict(decision) for decision in self.decisions],
        } | {name: getattr(self, name).tolist() for name in arrays}


def simulate(
    workload: str,
    policy: str | Policy,
    objective: str = "el-rl",
    *,
    nodes: int | None = None,
    seed: int = 0,
    lag_seconds: float = 0.0,
    filters: str | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Series:
    """Play one policy on one seed of a workload.

    Raises:
        InputError: an unknown name, parameter or objective.
    """
    built = build_workload(workload, with_nodes(parameters, nodes))
    return simulate_trace(
        workload, built.trace(seed), policy, objective, seed=seed, lag_seconds=lag_seconds, filters=filters
    )


def simulate_trace(
    name: str,
    trace: Trace,
    policy: str | Policy,
    objective: str = "el-rl",
    *,
    seed: int = 0,
    lag_seconds: float = 0.0,
    filters: str | None = None,
) -> Series:
    """Play one policy on one trace; `name` is what the trace is called, the seed that of random ties."""
    found, parsed = as_policy(policy, filters), checked_objective(objective)
    compiled = compile_traces([trace], lag_seconds=lag_seconds, seed=seed)
    runs = play_runs(compiled, [found], parsed)
    return make_series(name, objective, found.name, seed, compiled[0], runs)


def play_runs(compiled: list[Compiled], policies: list[Policy], objective: Weighted | None) -> Runs:
    """Play policies that share their filters."""
    measured = play(compiled, policies, objective, filters=filter_set(policies[0].filters))
    return make_runs(compiled, measured)


def make_series(workload: str, objective: str, policy: str, seed: int, compiled: Compiled, runs: Runs) -> Series:
    """Cut the first run out of `runs`, idle steps and what comes after the end left out."""
    steps = runs.is_counted[0, 0]
    measured = runs.measured
    outcome = measured.outcome
    measured_from, measured_to = window(compiled.trace)
    num_nodes = len(compiled.trace.nodes)
    return Series(
        workload=workload,
        policy=policy,
        objective=objective,
        seed=seed,
        start=measured_from,
        end=measured_to,
        node_names=tuple(node.name for node in compiled.trace.nodes),
        times=outcome.time[0, 0][steps],
        kinds=tuple(Kind(kind).name.lower() for kind in outcome.kind[0, 0][steps]),
        pods_per_node=measured.pods_per_node[0, 0][steps][:, :num_nodes],
        active_nodes=measured.active_nodes[0, 0][steps],
        latency_ms=measured.latency_ms[0, 0][steps],
        cpu_variance=measured.cpu_variance[0, 0][steps],
        watts=measured.watts_idle_on[0, 0][steps],
        watts_idle_off=measured.watts_idle_off[0, 0][steps],
        running=measured.running[0, 0][steps],
        waiting=measured.waiting[0, 0][steps],
        reward=measured.reward[0, 0][steps],
        is_placed=runs.is_placed[0, 0][steps],
        is_success=is_success(runs)[0, 0][steps],
        assumed=assumed_metrics(compiled.trace.nodes, parse_objective(objective)),
        assumptions=announcements(compiled.trace.nodes),
        decisions=_decisions(compiled, runs),
        metrics={name: float(values[0, 0]) for name, values in measure_all(runs).items()},
    )


def _decisions(compiled: Compiled, runs: Runs) -> tuple[Placement, ...]:
    outcome, names = runs.measured.outcome, [*compiled.encoded.node_names, None]  # node -1 is the last: it waits
    decided = runs.is_counted[0, 0] & outcome.is_decision[0, 0]
    rows = (leaf[0, 0][decided].tolist() for leaf in (outcome.time, outcome.pod, outcome.node))
    return tuple(Placement(time, compiled.pod_names[pod], names[node]) for time, pod, node in zip(*rows, strict=True))


def moving_average(values: Array, width: int) -> Array:
    """Return, at each of `values` [steps], the mean of the last `width` values, of fewer at the start.

    nan is passed over; where there is no value yet the result is nan.
    """
    known = ~np.isnan(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - width, 0)
    number = counts[last] - counts[first]
    return np.where(number > 0, (sums[last] - sums[first]) / np.maximum(number, 1), np.nan)


def as_policy(policy: str | Policy, filters: str | None = None) -> Policy:
    """Look a policy up by its name or its bundle's folder; see `deciding.find`."""
    return policy if isinstance(policy, Policy) else find_policy(policy, filters)


def with_nodes(parameters: Mapping[str, object] | None, nodes: int | None) -> dict[str, object]:
    """Return a workload's parameters, the number of nodes among them where it is given."""
    return dict(parameters or {}) | ({} if nodes is None else {"nodes": nodes})


def number_or_none(value: float) -> float | None:
    """Return a number that JSON has a word for."""
    return float(value) if np.isfinite(value) else None
