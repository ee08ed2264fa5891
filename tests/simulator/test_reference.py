"""The fast simulator against its slow twin: same steps, same nodes, same rewards, for every policy and objective."""

from dataclasses import replace

import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, hash_uint32
from longshore.core.words.trace import Create, Event, Trace
from longshore.filters import filter_set
from longshore.objectives import REGISTRY as OBJECTIVES
from longshore.objectives.weighted import Weighted
from longshore.policies import REGISTRY as POLICIES
from longshore.policies.base import Policy
from longshore.simulator.params import Compiled, Kind
from longshore.simulator.play import compile_traces, play
from longshore.simulator.reference import Reference, Step
from simulator.traces import random_trace
from support.builders import make_node, make_pod

FILTERS = filter_set("upstream+latency")
ALL_OBJECTIVES = Weighted(tuple((1.0 + i / 7, OBJECTIVES.load(name)()) for i, name in enumerate(OBJECTIVES.names())))


def check(traces: int, policies: list[str], lag_seconds: float, *, has_node_events: bool = True) -> int:
    """Compare step by step; return how many steps there were."""
    made = [random_trace(seed, has_node_events=has_node_events) for seed in range(traces)]
    compiled = compile_traces(made, lag_seconds=lag_seconds)
    return len(compared(compiled, {name: POLICIES.load(name) for name in policies}, lag_seconds))


def compared(
    compiled: list[Compiled],
    policies: dict[str, Policy],
    lag_seconds: float = 0.0,
    objective: Weighted | None = ALL_OBJECTIVES,
) -> list[Step]:
    """Compare step by step; return the twin's steps."""
    units = list(policies.values())
    measured = play(compiled, units, objective, filters=FILTERS)
    outcome, steps = measured.outcome, list[Step]()
    for i, (name, unit) in enumerate(policies.items()):
        for j, one in enumerate(compiled):
            twin = list(Reference(one, unit, FILTERS, lag_seconds, objective).play())
            length = len(twin)
            label = f"{name}, trace {j}"
            assert [s.kind for s in twin] == outcome.kind[i, j, :length].tolist(), label
            assert (outcome.kind[i, j, length:] == Kind.IDLE).all(), label
            assert [s.time for s in twin] == outcome.time[i, j, :length].tolist(), label
            assert [s.node for s in twin] == outcome.node[i, j, :length].tolist(), label
            rewards = np.array([s.reward for s in twin])
            np.testing.assert_allclose(measured.reward[i, j, :length], rewards, rtol=1e-9, atol=1e-9, err_msg=label)
            decided = [s.pod for s in twin if s.is_decision]
            assert decided == outcome.pod[i, j, :length][outcome.is_decision[i, j, :length]].tolist(), label
            steps += twin
    return steps


@pytest.mark.parametrize("part", range(4))
def test_every_policy_plays_like_the_twin(part: int):
    assert check(8, POLICIES.names()[part::4], lag_seconds=0.0) > 1_000


@pytest.mark.parametrize("lag_seconds", [0.5, 15.0])
def test_lagging_readings_play_like_the_twin(lag_seconds: float):
    policies = ["kube-default", "energy-latency", "lowest-latency"]
    assert check(10, policies, lag_seconds) > 1_000


def test_a_program_without_node_events_plays_like_the_twin():
    assert check(6, ["kube-default", "random"], lag_seconds=0.0, has_node_events=False) > 400


def better_than_waiting(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Score at random around 0, so that many pods are left waiting, and tried again when something changes."""
    drawn = hash_uint32(arrays.state.step, pod_class, arrays.nodes.name_rank)
    return drawn.astype("float64") / 2**31 - 1.2


def test_a_policy_that_defers_plays_like_the_twin():
    compiled = compile_traces([random_trace(seed) for seed in range(6)])
    steps = compared(compiled, {"waits": Policy(better_than_waiting, may_defer=True)}, objective=None)
    num_waiting = sum(step.is_decision and step.node < 0 for step in steps)
    num_placed = sum(step.node >= 0 for step in steps)
    assert num_waiting > 100 and num_placed > 60, (num_waiting, num_placed)


def in_crowds(trace: Trace) -> Trace:
    """Return the trace with every event at a multiple of four seconds, so that many pods arrive at once."""
    events: list[Event] = [event._replace(time=event.time // 4 * 4) for event in trace.events]
    return replace(trace, events=tuple(events))


def by_the_pod_behind(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Score by the class of the pod behind, so that a wrong one leads elsewhere."""
    drawn = hash_uint32(pod_class, arrays.state.next_class, arrays.nodes.name_rank)
    return drawn.astype("float64") / 2**31 - 1.0


def test_the_pod_behind_is_the_twins():
    compiled = compile_traces([in_crowds(random_trace(seed, pods=70)) for seed in range(4)])
    compared(compiled, {"next": Policy(by_the_pod_behind, may_defer=True)}, objective=None)


def test_the_pod_behind_is_known_in_crowds_and_queues_only():
    met: list[tuple[int, int]] = []

    def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        met.append((int(pod_class), int(arrays.state.next_class)))
        return np.zeros(len(feasible))

    pods = [make_pod(f"p{i}").cpu(f"{100 + i}m").build() for i in range(4)]
    large = [make_pod(f"q{i}").cpu(f"{950 + i}m").build() for i in range(3)]
    events = [Create(0.0, pods[0], 5.0), *(Create(1.0, pod, 2.0) for pod in pods[1:])]
    events += [Create(2.0, pod, 9.0) for pod in large]
    trace = Trace((make_node("a").cpu("1").build(),), tuple(events))
    list(Reference(compile_traces([trace])[0], Policy(score)).play())
    # The first alone, the others at once; the large ones fit nowhere until the last small one is gone.
    assert met == [(0, -1), (1, 2), (2, 3), (3, -1), (4, 5), (5, 6), (6, -1)]
