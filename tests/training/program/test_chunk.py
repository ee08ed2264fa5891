"""The compiled part: seeds do not know of each other, the best policy is kept, limits come before the objective."""

import dataclasses
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.network.forward import needed
from longshore.training.program.chunk import TrainState
from longshore.training.program.greedy import judge_all
from support.jax_arrays import assert_same_trees
from training.tiny import prepare_once, tiny_plan

CHUNKS = 4
WORKLOAD = {"nodes": 3, "pods": 6, "cycles": 1}
# A limit that no placement keeps: half of them may take longer than 1 ms, and all do.
PLAN = tiny_plan(
    workload="test1",
    workload_config=WORKLOAD,
    objective="el-rl",
    features=("latency", "node_is_on"),
    limit="p50_latency_ms<=1",
)


@cache
def trained(*seeds: int) -> tuple[TrainState, list[dict[str, np.ndarray]]]:
    prepared = prepare_once(PLAN)
    state = prepared.program.init(prepared.data, jax.vmap(jax.random.PRNGKey)(jnp.array(seeds)))
    figures = []
    for _ in range(CHUNKS):
        state, found = prepared.program.chunk(prepared.data, state)
        figures.append(jax.tree.map(np.asarray, dict(found)))
    return state, figures


def of_seed(tree: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[number], tree)


def test_two_seeds_at_once_are_each_what_they_are_alone() -> None:
    both, _ = trained(3, 5)
    for number, seed in enumerate((3, 5)):
        alone, _ = trained(seed)
        for name, leaf in of_seed(both.learner.tensors, number).items():
            # Not to the last bit: a program for two adds up in another order.
            np.testing.assert_allclose(leaf, of_seed(alone.learner.tensors, 0)[name], rtol=1e-4, atol=1e-5)
        assert int(both.decided[number]) == int(alone.decided[0])


def test_the_same_seeds_give_the_same_to_the_last_bit() -> None:
    first, figures = trained(3, 5)
    trained.cache_clear()
    again, figures_again = trained(3, 5)
    assert_same_trees(again, first)
    assert_same_trees(figures_again, figures)


def test_other_seeds_give_others() -> None:
    state, _ = trained(3, 5)
    assert all((leaf[0] != leaf[1]).any() for leaf in map(np.asarray, state.learner.tensors.values()))


def test_the_best_policy_of_all_chunks_is_kept() -> None:
    state, figures = trained(3, 5)
    worth = np.array([one["selection_worth"] for one in figures])
    np.testing.assert_array_equal(state.best_worth, worth.max(axis=0))
    returns = np.array([one["selection_return"] for one in figures])
    np.testing.assert_array_equal(state.best_return, returns[worth.argmax(axis=0), [0, 1]])


def test_a_policy_is_kept_until_a_better_one_comes() -> None:
    state, _ = trained(3, 5)
    prepared = prepare_once(PLAN)
    # Nothing is better than the first seed's, and anything than the second's. Copied: a chunk uses its state up.
    before = jax.tree.map(jnp.copy, state)._replace(best_worth=jnp.array([jnp.inf, -jnp.inf]))
    after, _ = prepared.program.chunk(prepared.data, jax.tree.map(jnp.copy, before))
    assert_same_trees(of_seed(after.best, 0), of_seed(before.best, 0))
    assert_same_trees(of_seed(after.best, 1), of_seed(after.learner.tensors, 1))
    assert np.isfinite(after.best_worth[1])


def test_the_return_that_is_reported_is_that_of_the_tensors_that_are_kept() -> None:
    state, _ = trained(3, 5)
    prepared = prepare_once(PLAN)
    task, ops = prepared.program.task, needed(prepared.program.blueprint.ops)
    tensors = jax.tree.map(lambda leaf: leaf[0], state.best)
    found = jax.jit(lambda: judge_all(task, ops, tensors, prepared.data.selection, jnp.zeros(0)))()
    assert float(found.terms.sum(axis=-1).mean()) == pytest.approx(float(state.best_return[0]))


def test_figures_are_finite_and_count() -> None:
    _, figures = trained(3, 5)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(figures))
    decided = np.array([one["decided"] for one in figures])
    assert (np.diff(decided, axis=0) > 0).all()
    for one in figures:
        np.testing.assert_allclose(one["actions"].sum(axis=-1), 1.0, rtol=1e-5)


def test_the_price_of_a_broken_limit_rises() -> None:
    state, figures = trained(3, 5)
    prices = np.array([one["multiplier"] for one in figures])
    assert (np.diff(prices, axis=0) > 0).all()
    assert (np.asarray(state.multiplier) > prices[-1]).all()
    assert all((one["limit_cost"] == 1.0).all() for one in figures)


def test_a_policy_that_breaks_the_limit_is_behind_every_one_that_keeps_it() -> None:
    _, figures = trained(3, 5)
    # All placements break it, and half of them may.
    assert all((one["selection_worth"] < -0.4e6).all() for one in figures)


def test_a_policy_is_judged_by_what_its_cost_may_be_on_other_traces() -> None:
    config = {"nodes": 6, "pods": 8, "constrained_share": 0.0}
    plan = dataclasses.replace(
        PLAN, workload="diurnal", workload_config=config, limit="mean_latency_ms<=1", selection_traces=4
    )
    prepared = prepare_once(plan)
    program, data = prepared.program, prepared.data
    state = program.init(data, jax.random.PRNGKey(0)[None])
    _, figures = jax.jit(program.select)(data, state, {})
    tensors = jax.tree.map(lambda leaf: leaf[0], program.learner.tensors(state.learner))
    ops = needed(program.blueprint.ops)
    judged = jax.jit(lambda: judge_all(program.task, ops, tensors, data.selection, jnp.zeros(0)))()
    costs = np.asarray(judged.cost / judged.placed)  # of traces with as many placements each
    assert len(set(np.asarray(judged.placed).tolist())) == 1
    assert figures["selection_cost"][0] == pytest.approx(costs.mean())
    upper = costs.mean() + 2 * costs.std(ddof=1) / np.sqrt(4)
    assert upper > costs.mean() + 0.01
    assert figures["selection_worth"][0] == pytest.approx(-1e6 * upper, rel=1e-4)
