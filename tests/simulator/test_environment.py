"""The environment of pure functions: its decisions are the slow twin's, its rewards the rollout's."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
import pytest

from longshore import filters, policies
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.features import features
from longshore.core.arrays.ops import Array
from longshore.core.words.trace import Trace
from longshore.objectives.weighted import parse_objective
from longshore.policies.base import Policy
from longshore.simulator.environment import ActionResult, Environment, Moment, Seen
from longshore.simulator.params import Compiled, SimParams, compile_trace
from longshore.simulator.play import play
from longshore.simulator.reference import Reference, Step
from longshore.workloads.build import build_workload

FEATURES = ("node_cpu_used", "after_cpu_used", "latency", "is_feasible", "next_cpu")


class Case(NamedTuple):
    """A workload under a policy."""

    workload: str
    parameters: dict[str, object]
    policy: str
    objective: str = "el-rl"
    filter_set: str = "upstream"
    lag_seconds: float = 0.0
    has_rollout: bool = True
    """The rewards are compared, too."""


CASES = (
    Case("test1", {"pods": 20}, "energy-latency", filter_set="upstream+latency", lag_seconds=15.0),
    Case("churn", {"nodes": 5, "pods": 60, "load": 0.9}, "kube-default", objective="watts=1,spread=0.5"),
    Case("diurnal", {"nodes": 6, "pods": 60, "load": 0.9}, "fgd", objective="variance", has_rollout=False),
)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.workload)


def heuristic_of(case: Case) -> Policy:
    unit = policies.REGISTRY.load(case.policy)
    # The environment gives out GPUs by best fit; the policy only says where the pod goes.
    return replace(unit, devices=Policy(score=unit.score).devices)


@lru_cache(maxsize=8)
def trace_of(name: str, seed: int, *parameters: tuple[str, object]) -> Trace:
    return build_workload(name, dict(parameters)).trace(seed)


def compiled_trace(case: Case, seed: int) -> Compiled:
    trace = trace_of(case.workload, seed, *case.parameters.items())
    return compile_trace(trace, lag_seconds=case.lag_seconds, seed=seed)


def environment_of(case: Case) -> Environment:
    return Environment(parse_objective(case.objective), filters.filter_set(case.filter_set), FEATURES)


def reference_decisions(case: Case, compiled: Compiled) -> list[Step]:
    twin = Reference(compiled, heuristic_of(case), filters.filter_set(case.filter_set), case.lag_seconds)
    return [step for step in twin.play() if step.is_decision]


def rollout_rewards(case: Case, compiled: Compiled) -> Array:
    measured = play(
        [compiled], [heuristic_of(case)], parse_objective(case.objective), filters=filters.filter_set(case.filter_set)
    )
    return measured.reward[0, 0][measured.outcome.is_decision[0, 0]]


class Played(NamedTuple):
    """An environment, compiled."""

    reset: Callable[[SimParams], tuple[Moment, Seen]]
    step: Callable[[SimParams, Moment, np.int64], tuple[Moment, Seen, ActionResult]]


@lru_cache(maxsize=8)
def compiled_program(environment: Environment) -> Played:
    return Played(jax.jit(environment.reset), jax.jit(environment.step))


@every_case
def test_decisions_are_the_slow_twins_and_rewards_the_rollouts(case: Case) -> None:
    compiled = compiled_trace(case, seed=4)
    decisions = reference_decisions(case, compiled)
    program = compiled_program(environment_of(case))
    params = jax.device_put(compiled.params)
    moment, seen = program.reset(params)
    rewards = []
    for decision in decisions:
        assert not moment.is_over
        assert (int(moment.pod), float(moment.state.time)) == (decision.pod, decision.time)
        action = decision.node if decision.node >= 0 else len(moment.feasible)
        assert seen.action_mask[action]
        assert decision.node >= 0 or not moment.feasible.any()
        moment, seen, result = program.step(params, moment, np.int64(action))
        assert int(result.node) == decision.node
        assert not result.was_infeasible
        rewards.append(float(result.reward))
    assert moment.is_over
    assert np.any(rewards)
    if case.has_rollout:
        np.testing.assert_allclose(rewards, rollout_rewards(case, compiled), rtol=1e-12, atol=1e-12)


def test_observations_are_the_slow_twins() -> None:
    case, told = CASES[1], list[Array]()
    compiled, heuristic = compiled_trace(case, seed=4), heuristic_of(case)

    def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        told.append(features(arrays, pod_class, feasible, FEATURES))
        return heuristic.score(arrays, pod_class, feasible)

    twin = Reference(compiled, replace(heuristic, score=score), filters.filter_set(case.filter_set))
    program, params = compiled_program(environment_of(case)), jax.device_put(compiled.params)
    moment, seen = program.reset(params)
    for decision in (step for step in twin.play() if step.is_decision):
        if moment.feasible.any():
            np.testing.assert_allclose(seen.rows, told.pop(0), rtol=1e-6, atol=1e-6)
        action = decision.node if decision.node >= 0 else len(moment.feasible)
        moment, seen, _ = program.step(params, moment, np.int64(action))
    assert moment.is_over and not told


def test_an_action_that_is_not_allowed_defers() -> None:
    case = CASES[0]
    params = jax.device_put(compiled_trace(case, seed=0).params)
    program = compiled_program(environment_of(case))
    moment, seen = program.reset(params)
    # Readings are as at the start for the first pods, so the node that is too far away is masked.
    while moment.feasible.all():
        moment, seen, _ = program.step(params, moment, np.int64(np.argmax(moment.feasible)))
    forbidden = int(np.argmin(moment.feasible))
    assert not seen.action_mask[forbidden]
    pod = int(moment.pod)
    for action in (forbidden, -1, len(moment.feasible), 99):
        after, _, result = program.step(params, moment, np.int64(action))
        assert float(result.reward) == 0
        assert int(result.node) == -1
        assert bool(result.was_infeasible) == (action == forbidden)
        assert after.state.pod_node[pod] == -1
        assert after.state.cluster.pod_count.sum() == moment.state.cluster.pod_count.sum()


def test_nothing_changes_once_it_is_over() -> None:
    case = CASES[0]
    params = jax.device_put(compiled_trace(case, seed=0).params)
    program = compiled_program(environment_of(case))
    moment, seen = program.reset(params)
    defer = np.int64(len(moment.feasible))
    for _ in range(1000):
        if moment.is_over:
            break
        moment, seen, _ = program.step(params, moment, defer)
    assert moment.is_over
    assert seen.action_mask.tolist() == [False] * int(defer) + [True]
    after, _, result = program.step(params, moment, np.int64(0))
    assert after.is_over
    assert float(result.reward) == 0
    assert not result.was_infeasible
    jax.tree.map(np.testing.assert_array_equal, after.state, moment.state)


def test_a_strict_objective_ends_the_episode() -> None:
    case = CASES[0]._replace(objective="terms: [{name: el-rl, strict: true}]", filter_set="upstream")
    params = jax.device_put(compiled_trace(case, seed=0).params)
    program = compiled_program(environment_of(case))
    moment, _ = program.reset(params)
    limit = params.cluster.classes.latency_hard_ms[params.pod_class]
    while not moment.is_over:
        worst = int(np.argmax(moment.state.latency_ms))
        is_beyond = moment.state.latency_ms[worst] > limit[moment.pod]
        moment, _, _ = program.step(params, moment, np.int64(worst))
        assert bool(moment.is_over) == bool(is_beyond)
    assert float(moment.state.time) < compiled_trace(case, seed=0).trace.events[-1].time
