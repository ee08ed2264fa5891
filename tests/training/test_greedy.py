"""Judging: a policy earns what the simulator says that its twin earns, and comes to an end whatever it does."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_support  # noqa: F401
from longshore.core.features import features
from longshore.core.forward import needed
from longshore.objectives.base import Transition, never_ends
from longshore.policies import REGISTRY
from longshore.simulator.params import Compiled
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.training.greedy import Judged, judge_all
from longshore.training.plan import SELECTION_SEED
from longshore.training.prepare import Prepared, prepare
from longshore.workloads.build import build_workload
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
    assert task.has_random_ties == want
