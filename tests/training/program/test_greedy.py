"""Judging: a policy earns what the simulator says that its twin earns, and comes to an end whatever it does."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.agents.networks.base import Blueprint, Sizes
from longshore.core.arrays.features import features
from longshore.core.network.forward import needed
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.weighted import Weighted
from longshore.policies import REGISTRY
from longshore.simulator.params import Compiled
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.training.program.greedy import POLICIES, POLICIES_AND_TRACES, SETTINGS, Judged, Over, judge_all
from longshore.training.program.greedy import TRACES as ALL_TRACES
from longshore.training.run.plan import SELECTION_SEED
from longshore.training.run.prepare import Prepared, prepare
from longshore.workloads.build import build_workload
from support import jax_arrays  # noqa: F401
from training.tiny import tiny_plan

WORKLOAD, PODS, TRACES = {"nodes": 3, "pods": 6, "cycles": 1}, 6, 3
LIMIT_MS, LAG_SECONDS = 15.0, 15.0
PLAN = tiny_plan(
    workload="test1",
    workload_config=WORKLOAD,
    objective="ee=1,el-rl=2",
    features=("latency", "after_cpu_used"),
    prior="energy-latency",
    limit=f"p50_latency_ms<={LIMIT_MS}",
    lag_seconds=LAG_SECONDS,
    selection_traces=TRACES,
)
TEACHER = REGISTRY.load("energy-latency")


@cache
def prepared() -> Prepared:
    return prepare(PLAN)


@cache
def judged(may_defer: bool = False) -> Judged:
    """Judge a hybrid that is not trained, and so is its heuristic; one that may defer, and wants to."""
    program, data = prepared().program, prepared().data
    tensors = program.blueprint.init(jax.random.PRNGKey(0))
    if may_defer:
        tensors["score.bias"] = jnp.full(1, -100.0, jnp.float32)
    task = replace(program.task, may_defer=may_defer)
    found = jax.jit(lambda params: judge_all(task, needed(program.blueprint.ops), tensors, params, jnp.zeros(0)))
    return jax.tree.map(np.asarray, found(data.selection))


def compiled() -> list[Compiled]:
    source = TraceSource(build_workload("test1", WORKLOAD), LAG_SECONDS)
    return [source.compiled(SELECTION_SEED + number) for number in range(TRACES)]


def test_a_policy_earns_what_its_twin_does() -> None:
    task = prepared().program.task
    for number, one in enumerate(compiled()):
        steps = list(Reference(one, TEACHER, task.filters, LAG_SECONDS, task.objective).play())
        found = judged().terms[number] @ np.array([1.0, 2.0])
        assert found == pytest.approx(sum(step.reward for step in steps))
    assert (judged().terms > 0).all()


def test_everything_is_counted() -> None:
    assert judged().created.tolist() == [PODS] * TRACES
    assert judged().placed.tolist() == [PODS] * TRACES
    assert judged().decided.tolist() == [PODS] * TRACES


@dataclass
class Watcher:
    """Stands where an objective stands, and writes down the true latency of every placement."""

    latencies: list[float] = field(default_factory=list)

    def reward(self, step: Transition) -> float:
        self.latencies.append(float(step.after.readings.latency_ms[step.node]))
        return 0.0

    ends_episode = staticmethod(never_ends)


def test_breaches_of_the_limit_are_counted_by_the_true_latency() -> None:
    filters = prepared().program.task.filters
    found = []
    for one in compiled():
        watcher = Watcher()
        list(Reference(one, TEACHER, filters, LAG_SECONDS, watcher).play())
        assert len(watcher.latencies) == PODS
        found.append(sum(latency > LIMIT_MS for latency in watcher.latencies))
    assert judged().cost.tolist() == found
    assert 0 < sum(found) < PODS * TRACES


def test_features_stay_within_what_was_seen() -> None:
    watched: list[Any] = []

    def score(arrays: Any, pod_class: Any, feasible: Any) -> Any:
        watched.append(features(arrays, pod_class, feasible, PLAN.features)[arrays.nodes.is_real])
        return TEACHER.score(arrays, pod_class, feasible)

    task = prepared().program.task
    list(Reference(compiled()[0], replace(TEACHER, score=score), task.filters, LAG_SECONDS, task.objective).play())
    rows = np.concatenate(watched)
    np.testing.assert_allclose(judged().low[0], rows.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(judged().high[0], rows.max(axis=0), atol=1e-6)


def test_a_policy_that_always_defers_comes_to_an_end() -> None:
    found = judged(may_defer=True)
    assert found.placed.tolist() == [0] * TRACES
    assert found.created.tolist() == [PODS] * TRACES
    assert (found.terms == 0).all()


@pytest.mark.parametrize(("prior", "want"), [("", False), ("energy-latency", False), ("kube-default", True)])
def test_ties_are_random_only_as_the_heuristic_has_them(prior: str, want: bool) -> None:
    task = replace(prepared().program.task, prior=REGISTRY.load(prior) if prior else None)
    assert task.policy().has_random_ties == want


class UntilThird:
    """Earns 1 for every pod, and ends the trace with the first one that goes to the third node."""

    def reward(self, step: Transition) -> Any:
        return jnp.ones(())

    def ends_episode(self, step: Transition) -> Any:
        return step.node == 2


DIALS = np.array([[1.0, 0.0], [0.2, 0.8]], np.float32)


@cache
def network() -> Blueprint:
    return replace(PLAN, network="deepsets").build_network().build(Sizes(len(PLAN.features), 3, 2))


@cache
def random_policies() -> Any:
    return jax.vmap(network().init)(jax.random.split(jax.random.PRNGKey(1), 4))


def judged_over(over: tuple[Over, ...], tensors: Any, params: Any, dials: Any) -> Judged:
    task = replace(prepared().program.task, objective=Weighted(((1.0, UntilThird()),)), prior=None)
    found = jax.jit(lambda *values: judge_all(task, needed(network().ops), *values, over))(tensors, params, dials)
    return jax.tree.map(np.asarray, found)


def test_nothing_counts_after_the_end_of_a_trace_while_others_go_on() -> None:
    params = prepared().data.selection
    together = judged_over((POLICIES, SETTINGS, ALL_TRACES), random_policies(), params, DIALS)
    assert together.terms.shape == (4, 2, TRACES, 1)
    assert len(set(together.placed.ravel().tolist())) > 1, "all traces end at once"
    for policy, dial, trace in np.ndindex(4, 2, TRACES):
        one = jax.tree.map(lambda leaf, policy=policy: leaf[policy], random_policies())
        alone = judged_over((), one, jax.tree.map(lambda leaf, trace=trace: leaf[trace], params), DIALS[dial])
        for part, whole in zip(alone, together, strict=True):
            np.testing.assert_array_equal(part, whole[policy, dial, trace])


def test_policies_may_have_traces_of_their_own() -> None:
    params = jax.tree.map(lambda leaf: jnp.stack([leaf[:2], leaf[1:], leaf[:2], leaf[1:]]), prepared().data.selection)
    own = judged_over((POLICIES_AND_TRACES, ALL_TRACES), random_policies(), params, DIALS[0])
    shared = judged_over((POLICIES, ALL_TRACES), random_policies(), prepared().data.selection, DIALS[0])
    for part, whole in zip(own, shared, strict=True):
        np.testing.assert_array_equal(part[::2], whole[::2, :2])
        np.testing.assert_array_equal(part[1::2], whole[1::2, 1:])
