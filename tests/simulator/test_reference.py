"""The fast simulator against its slow twin: same steps, same nodes, same rewards, for every policy and objective."""

import numpy as np
import pytest

from longshore.filters import SETS
from longshore.objectives import REGISTRY as OBJECTIVES
from longshore.objectives.weighted import Weighted
from longshore.policies import REGISTRY as POLICIES
from longshore.simulator.params import Kind
from longshore.simulator.play import compile_traces, play
from longshore.simulator.reference import Reference
from simulator.traces import random_trace

FILTERS = SETS["upstream+latency"]
ALL_OBJECTIVES = Weighted(tuple((1.0 + i / 7, OBJECTIVES.load(name)()) for i, name in enumerate(OBJECTIVES.names())))


def check(traces: int, policies: list[str], lag_seconds: float, *, has_node_events: bool = True) -> int:
    """Compare step by step; return how many steps there were."""
    made = [random_trace(seed, has_node_events=has_node_events) for seed in range(traces)]
    compiled = compile_traces(made, lag_seconds=lag_seconds)
    units = [POLICIES.load(name) for name in policies]
    measured = play(compiled, units, ALL_OBJECTIVES, filters=FILTERS)
    outcome, steps = measured.outcome, 0
    for i, unit in enumerate(units):
        for j, one in enumerate(compiled):
            twin = list(Reference(one, unit, FILTERS, lag_seconds, ALL_OBJECTIVES).play())
            length = len(twin)
            label = f"{policies[i]}, trace {j}"
            assert [s.kind for s in twin] == outcome.kind[i, j, :length].tolist(), label
            assert (outcome.kind[i, j, length:] == Kind.IDLE).all(), label
            assert [s.time for s in twin] == outcome.time[i, j, :length].tolist(), label
            assert [s.node for s in twin] == outcome.node[i, j, :length].tolist(), label
            rewards = np.array([s.reward for s in twin])
            np.testing.assert_allclose(measured.reward[i, j, :length], rewards, rtol=1e-9, atol=1e-9, err_msg=label)
            decided = [s.pod for s in twin if s.is_decision]
            assert decided == outcome.pod[i, j, :length][outcome.is_decision[i, j, :length]].tolist(), label
            steps += length
    return steps


@pytest.mark.slow
def test_every_policy_plays_like_the_twin():
    assert check(8, list(POLICIES.names()), lag_seconds=0.0) > 5_000


@pytest.mark.parametrize("lag_seconds", [0.5, 15.0])
def test_lagging_readings_play_like_the_twin(lag_seconds: float):
    policies = ["kube-default", "energy-latency", "lowest-latency"]
    assert check(10, policies, lag_seconds) > 1_000


def test_a_program_without_node_events_plays_like_the_twin():
    assert check(6, ["kube-default", "random"], lag_seconds=0.0, has_node_events=False) > 400
