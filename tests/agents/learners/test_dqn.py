"""DQN: values are returns and nothing else, masks hold in the target too, and exploration is part of the state."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.toys import drawn, make_seen, make_segment, random_seen, share_right, train_bandit
from longshore.agents import scoring
from longshore.agents.learners.dqn import Dqn, DqnState
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.linear import Linear
from longshore.agents.networks.mlp import Mlp
from longshore.training.program.chunk import TrainState
from longshore.training.run.checkpoint import Position, read_checkpoint, write_checkpoint
from longshore.training.run.plan import Plan
from support.jax_arrays import assert_same_trees, to_jax

BLUEPRINT = Linear().build(Sizes(2, 2))
SMALL = Dqn(memory=64, batch=32, learning_starts=4, horizon=1, gradient_steps=4, learning_rate=2e-2, target_rate=0.1)
ARMS = np.array([5.0, -3.0], np.float32)


@partial(jax.jit, static_argnums=0)
def updated(learner: Dqn, state: DqnState, segment: Any) -> Any:
    return learner.update(BLUEPRINT, state, jax.random.PRNGKey(0), segment)


def values(learner: Dqn, blueprint: Any, tensors: Any, rows: Any) -> np.ndarray:
    """Return what is learnt to be the return of each node, by the formula of the page."""
    scores, value = scoring.evaluate(blueprint, tensors, make_seen(rows).inputs)
    return np.asarray(value[:, None] + scores - scores.mean(axis=1, keepdims=True) if learner.duelling else scores)


@pytest.mark.parametrize("duelling", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_values_are_returns_of_any_size(duelling: bool, double: bool) -> None:
    learner = dataclasses.replace(SMALL, duelling=duelling, double=double, envs=8, segment=4, discount=0.5)
    blueprint = Mlp(width=16, layers=1).build(Sizes(2, 2))
    arm = jnp.eye(2, dtype=jnp.float32)
    # The first decision earns nothing and leads to the second, whose arms pay 5 and -3; then it is over.
    rows = jnp.stack([arm, arm + 1.0, arm, arm + 1.0])
    seen = jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], 8, axis=1), make_seen(rows))

    def update(state: DqnState, key: Any) -> tuple[DqnState, Any]:
        action = jax.random.randint(key, (4, 8), 0, 2, jnp.int32)
        is_second = (jnp.arange(4) % 2 == 1)[:, None]
        reward = jnp.where(is_second, jnp.asarray(ARMS)[action], 0.0)
        segment = make_segment(seen, action, reward, jnp.broadcast_to(is_second, (4, 8)))
        return learner.update(blueprint, state, key, segment)

    @jax.jit
    def train(state: DqnState) -> tuple[DqnState, Any]:
        return jax.lax.scan(update, state, jax.random.split(jax.random.PRNGKey(0), 150))

    state, _ = train(learner.init(blueprint, jax.random.PRNGKey(0), jax.tree.map(lambda leaf: leaf[0], seen)))
    found = values(learner, blueprint, state.tensors, rows[:2])
    np.testing.assert_allclose(found[1], ARMS, atol=0.2)
    np.testing.assert_allclose(found[0], 0.5 * ARMS.max(), atol=0.2)


@pytest.mark.parametrize("double", [False, True])
def test_the_target_never_reads_an_infeasible_node(double: bool) -> None:
    learner = dataclasses.replace(
        SMALL, double=double, duelling=False, learning_rate=0.0, learning_starts=1, discount=1.0, gradient_steps=1
    )
    known = {"score.weight": np.array([[1.0], [0.0]], np.float32), "score.bias": np.zeros(1, np.float32)}
    tensors = to_jax(drawn(BLUEPRINT) | known)
    rows = np.zeros((2, 1, 2, 2))
    rows[1, 0, :, 0] = [0.5, 100.0]  # what follows: the best node is infeasible
    seen = make_seen(rows, np.array([[[True, True]], [[True, False]]]))
    start = learner.init(BLUEPRINT, jax.random.PRNGKey(0), jax.tree.map(lambda leaf: leaf[0], seen))
    start = start._replace(tensors=tensors, target=tensors)
    nothing = np.zeros((2, 1))
    state, figures = updated(learner, start, make_segment(seen, nothing, nothing, nothing))
    assert int(state.stored) == 1
    assert float(figures["loss"]) == pytest.approx(0.5 * 0.5**2)  # Huber's, of an error of 0.5


def test_a_guide_fills_the_memory_first_and_leads_exploration() -> None:
    seen = random_seen(3)
    feasible = np.asarray(seen.feasible)
    guide = np.where(feasible.any(axis=1), feasible.argmax(axis=1), -1).astype(np.int32)
    seen = seen._replace(guide=jnp.asarray(guide))
    blueprint = Linear().build(Sizes(2, 4))
    never = dataclasses.replace(SMALL, prefill=10, exploration_start=0.0, exploration_end=0.0)
    start = never.init(blueprint, jax.random.PRNGKey(0), seen)
    # Scores that are all against the guide.
    start = start._replace(tensors={**start.tensors, "score.weight": 100 * start.tensors["score.weight"]})
    keys = jax.random.split(jax.random.PRNGKey(1), 20)
    for key in keys:
        assert never.act(blueprint, start, key, seen)[0].tolist() == guide.tolist()
    always = dataclasses.replace(SMALL, guide_share=1.0, exploration_start=1.0)
    for key in keys:
        assert always.act(blueprint, start, key, seen)[0].tolist() == guide.tolist()
    later = start._replace(decided=jnp.int32(10))
    best = scoring.pick(scoring.evaluate(blueprint, start.tensors, seen.inputs)[0], seen.feasible)
    for key in keys:
        assert never.act(blueprint, later, key, seen)[0].tolist() == best.tolist()


def exploration(learner: Dqn, state: DqnState, number: int = 4000) -> float:
    """Measure how often the best node is not taken, of two: half of what explores."""
    seen = make_seen(np.tile(np.array([[1.0, 0.0], [0.0, 0.0]]), (number, 1, 1)))
    tensors = {name: jnp.zeros_like(leaf) for name, leaf in state.tensors.items()}
    tensors["score.weight"] = jnp.array([[1.0], [0.0]])
    action, _ = learner.act(BLUEPRINT, state._replace(tensors=tensors), jax.random.PRNGKey(2), seen)
    return 2 * float((action == 1).mean())


@pytest.mark.parametrize(("decided", "want"), [(0, 1.0), (150, 0.525), (300, 0.05), (1000, 0.05)])
def test_exploration_falls_with_the_decisions_and_stays_down(decided: int, want: float) -> None:
    learner = dataclasses.replace(SMALL, steps=1000, exploration=0.3)
    state = learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((1, 2, 2))))
    assert exploration(learner, state._replace(decided=jnp.int32(decided))) == pytest.approx(want, abs=0.06)


def test_exploration_does_not_begin_again_after_a_checkpoint(tmp_path: Path) -> None:
    learner = dataclasses.replace(SMALL, envs=8, segment=4, steps=200, exploration=0.3)
    trained = train_bandit(learner, BLUEPRINT, nodes=2, updates=7)
    assert float(trained.figures["exploration"][-1]) == pytest.approx(learner.exploration_end)
    nothing = jnp.zeros((), jnp.float32)
    state = TrainState(trained.state, None, jax.random.PRNGKey(0), nothing, nothing, {}, nothing, nothing)
    position = Position(plan=Plan().to_json(), chunks=1, seconds=0.0, is_finished=False, made_by={})
    write_checkpoint(tmp_path / "checkpoint", state, position)
    again = read_checkpoint(tmp_path / "checkpoint", Plan(), jax.eval_shape(lambda: state)).state.learner
    assert_same_trees(again, trained.state)
    assert exploration(learner, again) == pytest.approx(learner.exploration_end, abs=0.03)


def test_nothing_is_learnt_before_learning_starts() -> None:
    learner = dataclasses.replace(SMALL, learning_starts=7)
    start = learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((6, 2, 2))))
    one = np.ones((1, 6))
    segment = make_segment(make_seen(np.ones((1, 6, 2, 2))), 0 * one, one, one)
    early, _ = updated(learner, start, segment)
    assert int(early.stored) == 6
    assert_same_trees((early.tensors, early.target), (start.tensors, start.target))
    late, _ = updated(learner, early, segment)
    assert int(late.updates) == learner.gradient_steps


def test_the_memory_forgets_the_oldest() -> None:
    learner = dataclasses.replace(SMALL, memory=5, learning_starts=1000, gradient_steps=1)
    state = learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((1, 2, 2))))
    for number in range(7):
        seen = make_seen(np.full((1, 1, 2, 2), float(number)))
        one = np.ones((1, 1))
        state, _ = updated(learner, state, make_segment(seen, 0 * one, number * one, one))
    assert sorted(state.memory.total.tolist()) == [2, 3, 4, 5, 6]
    np.testing.assert_array_equal(state.memory.inputs.rows[:, 0, 0], state.memory.total)
    assert int(state.stored) == 7


def test_what_was_deferred_or_leads_nowhere_yet_is_not_remembered() -> None:
    seen = make_seen(np.zeros((3, 2, 2, 2)))
    segment = make_segment(seen, [[0, -1], [0, 0], [0, 0]], np.ones((3, 2)), np.zeros((3, 2)))
    state = SMALL.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((2, 2, 2))))
    state, _ = updated(SMALL, state, segment)
    assert int(state.stored) == 3
    assert int(state.decided) == 6


def remembered(horizon: int, lengths: list[int], ends: set[int] = frozenset()) -> DqnState:  # type: ignore[assignment]
    """Let a learner see decisions 0, 1, 2, … of one environment, which earn as much, in segments of these lengths."""
    learner = dataclasses.replace(SMALL, horizon=horizon, discount=0.5, learning_starts=1000)
    state, first = learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((1, 2, 2)))), 0
    for length in lengths:
        numbers = np.arange(first, first + length, dtype=np.float32)
        seen = make_seen(np.broadcast_to(numbers[:, None, None, None], (length, 1, 2, 2)))
        is_over = np.isin(numbers, list(ends))[:, None]
        state, _ = updated(learner, state, make_segment(seen, np.zeros((length, 1)), numbers[:, None], is_over))
        first += length
    return state


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("lengths", [[4, 4], [1, 1, 3], [2, 1, 5]])
def test_every_decision_is_remembered_once_it_is_known_where_it_leads(horizon: int, lengths: list[int]) -> None:
    state, decided = remembered(horizon, lengths), sum(lengths)
    assert int(state.stored) == decided - 1 == int(state.decided) - 1
    rows = np.asarray(state.memory.inputs.rows)[: decided - 1, 0, 0]
    ahead = np.asarray(state.memory.next_inputs.rows)[: decided - 1, 0, 0]
    assert sorted(rows.tolist()) == list(range(decided - 1))
    assert ((ahead > rows) & (ahead <= rows + horizon)).all()
    span = ahead - rows
    np.testing.assert_allclose(state.memory.discount[: decided - 1], 0.5**span)
    want = [sum(0.5**n * (row + n) for n in range(int(more))) for row, more in zip(rows, span, strict=True)]
    np.testing.assert_allclose(state.memory.total[: decided - 1], want)


def test_what_was_begun_again_is_not_gone_on_with_in_the_next_segment() -> None:
    # Decision 1 ends its episode; then the environment is given another trace, so that 2 never led to 3.
    state = remembered(1, [3, 3], ends={1})
    pairs = {
        (int(row), int(after)) if discount else (int(row), None)
        for row, after, discount in zip(
            np.asarray(state.memory.inputs.rows)[:4, 0, 0],
            np.asarray(state.memory.next_inputs.rows)[:4, 0, 0],
            np.asarray(state.memory.discount)[:4],
            strict=True,
        )
    }
    assert pairs == {(0, 1), (1, None), (3, 4), (4, 5)}
    assert int(state.stored) == 4


def test_the_target_follows_slowly() -> None:
    learner = dataclasses.replace(SMALL, gradient_steps=1)
    begun = learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((6, 2, 2))))
    one = np.ones((1, 6))
    found, _ = updated(learner, begun, make_segment(make_seen(np.ones((1, 6, 2, 2))), 0 * one, one, one))
    for name, leaf in found.target.items():
        want = begun.tensors[name] + learner.target_rate * (found.tensors[name] - begun.tensors[name])
        np.testing.assert_allclose(leaf, want, atol=1e-6, err_msg=name)
    assert any((found.tensors[name] != leaf).any() for name, leaf in begun.tensors.items())


def test_it_learns_where_the_reward_is() -> None:
    blueprint = Linear().build(Sizes(2, 3))
    found = train_bandit(dataclasses.replace(SMALL, envs=16, segment=4, memory=1000), blueprint, updates=100)
    assert share_right(blueprint, found.tensors) > 0.95
