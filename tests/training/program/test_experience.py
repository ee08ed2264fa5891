"""Environments: what a placement earns is what the cluster is after it, and an end begins another trace."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.choose import choose
from longshore.policies.base import Policy
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.training.program import experience
from longshore.training.program.experience import DEFER_REWARD, Bank, Env
from longshore.training.program.limits import Limit
from longshore.training.program.rewards import Scale
from longshore.training.run.plan import TRAINING_SEED
from longshore.training.run.prepare import prepare
from longshore.workloads.build import build_workload
from support import jax_arrays  # noqa: F401
from training.tiny import tiny_plan

ENVS, NODES, PODS, TRACES = 2, 3, 4, 5
WORKLOAD = {"nodes": NODES, "pods": PODS, "cycles": 1}
PLAN = tiny_plan(
    workload="test1",
    workload_config=WORKLOAD,
    objective="el-rl",
    features=("latency", "node_is_on"),
    limit="mean_latency_ms<=10",
    traces=TRACES,
)
PLAIN = Scale(np.zeros(1), np.ones(1), np.ones(1))
"""Rewards as the objective says them."""


@dataclass(frozen=True)
class Puppet:
    """Does what it is told: its state is the action."""

    segment: int = 1
    envs: int = ENVS
    steps: int = 1

    def act(self, _blueprint: Any, state: Any, _key: Any, _seen: Any) -> Any:
        return state, {}


class World:
    """Environments of one task, compiled once."""

    def __init__(self) -> None:
        prepared = prepare(PLAN)
        self.task, self.bank = prepared.program.task, prepared.data.bank
        self.look = jax.jit(lambda bank, envs: experience.example(self.task, bank, envs))
        self.move = jax.jit(self._move)
        self.renew = jax.jit(
            lambda key, envs: experience.renew(self.task, self.bank, PLAIN, key, envs, jnp.asarray(PLAIN.weights))
        )
        self.start = jax.jit(lambda key: experience.start(self.task, self.bank, PLAIN, key, ENVS))

    def _move(self, envs: Env, action: Any, multiplier: Any, scale: Scale) -> Any:
        blueprint, key = Blueprint((), ()), jax.random.PRNGKey(0)
        return experience.collect(self.task, Puppet(), blueprint, self.bank, scale, envs, action, multiplier, key)

    def step(self, envs: Env, action: Any, multiplier: float = 0.0, scale: Scale = PLAIN) -> tuple[Env, Any]:
        envs, segment, stepped = self.move(
            envs, jnp.asarray(action, jnp.int32), jnp.float32(multiplier), jax.tree.map(jnp.asarray, scale)
        )
        return envs, jax.tree.map(lambda leaf: np.asarray(leaf[0]), (segment, stepped))

    def first_feasible(self, envs: Env) -> np.ndarray:
        feasible = np.asarray(self.look(self.bank, envs).feasible)
        return np.where(feasible.any(axis=1), feasible.argmax(axis=1), -1)


@cache
def world() -> World:
    return World()


def begin(seed: int = 0) -> Env:
    return world().start(jax.random.PRNGKey(seed))


def play_to_the_end(envs: Env) -> tuple[Env, np.ndarray]:
    """Place every pod on the first feasible node; return the environments and all rewards [steps, envs]."""
    rewards = []
    for _ in range(50):
        envs, (segment, _) = world().step(envs, world().first_feasible(envs))
        rewards.append(segment.reward)
        if segment.is_over.any():
            assert segment.is_over.all()
            return envs, np.array(rewards)
    raise AssertionError("no end")


def test_a_placement_earns_what_the_cluster_is_after_it() -> None:
    envs = begin()
    _, (segment, _) = world().step(envs, [0, 0])
    params = jax.tree.map(lambda leaf: np.asarray(leaf)[np.asarray(envs.trace)], world().bank.params)
    classes, latency = params.cluster.classes, params.latency_ms[:, 0, 0]
    for env in range(ENVS):
        soft, hard = (
            limit[env][params.pod_class[env, 0]] for limit in (classes.latency_soft_ms, classes.latency_hard_ms)
        )
        in_time = 1.0 if latency[env] <= soft else 0.5 if latency[env] <= hard else 0.0
        # Two of three nodes are still off, and the one that is on holds one pod; before it, all were off.
        assert segment.reward[env] == pytest.approx(2 / 3 + 1 / 50 + in_time, abs=1e-6)


def test_a_pod_that_is_deferred_earns_the_price_of_waiting() -> None:
    envs, (segment, stepped) = world().step(begin(), [-1, 0])
    assert segment.seen.is_decision.all()
    assert segment.reward[0] == DEFER_REWARD != segment.reward[1]
    assert stepped.is_placed.tolist() == [False, True]
    assert envs.earned[0] == 0.0


def test_what_was_earned_is_the_return_of_the_trace() -> None:
    begun = begin()
    envs, rewards = play_to_the_end(begun)
    np.testing.assert_allclose(envs.last_earned, rewards.sum(axis=0), rtol=1e-5)
    source = TraceSource(build_workload("test1", WORKLOAD))
    first = Policy(lambda _cluster, _pod_class, feasible: np.zeros(feasible.shape))
    for env in range(ENVS):
        compiled = source.compiled(TRAINING_SEED + int(begun.trace[env]))
        order = compiled.params.cluster.nodes.name_rank
        assert order.tolist() == sorted(order.tolist())  # the lowest name is the first node
        twin = Reference(compiled, first, world().task.filters, 0.0, world().task.objective)
        assert float(envs.last_earned[env]) == pytest.approx(sum(step.reward for step in twin.play()))
    assert choose(compiled.params.cluster, np.zeros(NODES), np.ones(NODES, bool)) == 0


def test_an_end_begins_the_same_trace_again_until_the_next_segment() -> None:
    begun = begin()
    envs, _ = play_to_the_end(begun)
    assert envs.wants_trace.all()
    assert envs.trace.tolist() == begun.trace.tolist()
    assert envs.earned.tolist() == [0.0, 0.0]
    assert envs.state.time.tolist() == [0.0, 0.0]
    assert envs.state.cluster.pod_count.sum() == 0


def test_who_came_to_an_end_gets_another_trace() -> None:
    ended, _ = play_to_the_end(begin())
    found = [world().renew(jax.random.PRNGKey(seed), ended) for seed in range(12)]
    assert {int(envs.trace[0]) for envs in found} == set(range(TRACES))
    assert not any(envs.wants_trace.any() for envs in found)
    assert all((envs.last_earned == ended.last_earned).all() for envs in found)


def test_who_is_half_way_goes_on() -> None:
    envs, _ = world().step(begin(), [0, 1])
    envs = envs._replace(wants_trace=jnp.array([True, False]))
    found = world().renew(jax.random.PRNGKey(3), envs)
    assert found.state.cluster.pod_count.sum(axis=1).tolist() == [0, 1]
    assert found.earned[0] == 0.0
    assert found.earned[1] == envs.earned[1] > 0
    assert found.trace[1] == envs.trace[1]


def test_breaking_the_limit_costs_what_the_multiplier_says() -> None:
    envs = begin()
    limit = world().task.limit
    assert isinstance(limit, Limit)
    free, dear = (world().step(envs, [0, 0], multiplier)[1] for multiplier in (0.0, 2.0))
    latency = envs.state.latency_ms[:, 0]
    assert (latency > limit.bound_ms).any()
    np.testing.assert_allclose(free[0].reward - dear[0].reward, 2.0 * (latency / limit.bound_ms - 1), rtol=1e-5)
    np.testing.assert_allclose(dear[1].cost, latency / limit.bound_ms - 1)


def test_rewards_are_brought_to_scale() -> None:
    scale = Scale(np.array([0.5]), np.array([4.0]), np.array([1.0]))
    plain, scaled = (world().step(begin(), [0, 0], scale=one)[1][0].reward for one in (PLAIN, scale))
    np.testing.assert_allclose(scaled, (plain - 0.5) / 4.0, rtol=1e-5)


def test_steps_that_are_no_decision_earn_nothing_and_ask_for_nothing() -> None:
    envs = begin()
    others = 0
    for _ in range(50):
        envs, (segment, stepped) = world().step(envs, world().first_feasible(envs))
        other = ~segment.seen.is_decision
        others += int(other.sum())
        assert (segment.reward[other] == 0).all()
        assert (segment.action[other] == -1).all()
        assert not segment.seen.feasible[other].any()
        assert not stepped.is_placed[other].any()
        if segment.is_over.any():
            break
    assert others > 2 * PODS  # every pod leaves, latencies change, and the end


@pytest.mark.parametrize(("recorded", "want"), [(2, 2), (-1, -1)])
def test_a_recording_guides_where_it_knows_the_pod(recorded: int, want: int) -> None:
    bank = Bank(world().bank.params, jnp.full_like(world().bank.recorded, recorded))
    assert world().look(bank, begin()).guide.tolist() == [want, want]


def test_a_guide_never_leads_to_where_a_pod_may_not_go() -> None:
    envs = begin()
    params = world().bank.params
    closed = params.cluster.nodes.is_real.at[:, 2].set(False)
    cluster = params.cluster._replace(nodes=params.cluster.nodes._replace(is_real=closed))
    bank = Bank(params._replace(cluster=cluster), jnp.full_like(world().bank.recorded, 2))
    envs = envs._replace(state=envs.state._replace(is_up=envs.state.is_up.at[:, 2].set(False)))
    seen = world().look(bank, envs)
    assert not seen.feasible[:, 2].any()
    assert seen.guide.tolist() == [-1, -1]


def test_dials_sum_to_one_and_a_third_are_one_term_alone() -> None:
    found = np.asarray(experience._draw_dial(jax.random.PRNGKey(0), jnp.zeros((900, 3))))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert (found >= 0).all()
    is_pure = found.max(axis=1) == 1.0
    assert is_pure.mean() == pytest.approx(1 / 3, abs=5 * (2 / 9 / 900) ** 0.5)
    np.testing.assert_allclose(found[is_pure].mean(axis=0), 1 / 3, atol=0.15)


def test_a_dial_is_drawn_anew_for_every_episode() -> None:
    prepared = prepare(tiny_plan(dial=True, network="deepsets", objective="ee=1,compress=1"))
    task = prepared.program.task
    bank, scale = prepared.data.bank, jax.tree.map(jnp.asarray, prepared.data.scale)

    @jax.jit
    def renewed(key: Any) -> Any:
        envs = experience.start(task, bank, scale, key, ENVS)
        envs = envs._replace(wants_trace=jnp.array([True, False]))
        return envs.weights, experience.renew(task, bank, scale, key, envs, scale.weights).weights

    before, after = renewed(jax.random.PRNGKey(1))
    assert (before[0] != after[0]).any()
    assert after[0].sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(before[1], after[1])
