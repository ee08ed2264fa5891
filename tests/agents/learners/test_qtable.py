"""Q-table: sorted states, values that are known, waiting where it is allowed, and only what was seen."""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.toys import make_seen, make_segment, plain_inputs
from longshore.agents.learners.qtable import KEYS, VALUES, QTable, QTableState
from longshore.agents.networks.base import Sizes
from longshore.core.network.forward import SCORE, check, forward
from longshore.core.words.errors import InputError

LEARNER = QTable(buckets=2, discount=0.9, learning_rate=1.0, rate_power=0.0, may_defer=False, exploration=0.0)
BLUEPRINT = LEARNER.build(Sizes(2, 2))
# What is free on each of two nodes, and what is asked for: one node has room and the other has not; both have.
FIRST, SECOND = [[0.2, 0.2], [0.8, 0.2]], [[0.8, 0.2], [0.8, 0.2]]
STAY, LEAVE, THEN = 1.0, 3.0, 5.0


@partial(jax.jit, static_argnums=0)
def updated(learner: QTable, state: QTableState, segment: Any) -> Any:
    return learner.update(BLUEPRINT, state, jax.random.PRNGKey(0), segment)


@partial(jax.jit, static_argnums=0)
def acted(learner: QTable, state: QTableState, key: Any, seen: Any) -> Any:
    return learner.act(BLUEPRINT, state, key, seen)[0]


def begin(learner: QTable = LEARNER) -> QTableState:
    return learner.init(BLUEPRINT, jax.random.PRNGKey(0), make_seen(np.zeros((1, 2, 2))))


def two_states(order: tuple[int, int] = (0, 1)) -> Any:
    """Two environments: in the first state one goes to the full node and on, the other to the empty one and out."""
    rows = np.array([[FIRST, FIRST], [SECOND, SECOND]])[:, :, list(order)]
    action = [[order.index(0), order.index(1)], [0, 0]]
    return make_segment(make_seen(rows), action, [[STAY, LEAVE], [THEN, THEN]], [[False, True], [True, True]])


def learnt(learner: QTable = LEARNER, updates: int = 3) -> QTableState:
    state = begin(learner)
    for _ in range(updates):
        state, _ = updated(learner, state, two_states())
    return state


def scores(tensors: Any, rows: Any) -> list[float]:
    inputs = jax.tree.map(np.asarray, plain_inputs(jnp.asarray(rows, jnp.float32)))
    arrays = {name: np.asarray(leaf) for name, leaf in tensors.items()}
    return forward(BLUEPRINT.ops, arrays, inputs)[SCORE].tolist()


def test_values_are_those_of_the_problem() -> None:
    state = learnt()
    found = sorted(state.values[state.visits > 0].tolist())
    assert found == pytest.approx([LEAVE, THEN, STAY + 0.9 * THEN])


def test_scores_are_as_far_apart_as_the_values() -> None:
    full, empty = scores(LEARNER.tensors(learnt()), FIRST)
    assert full - empty == pytest.approx(STAY + 0.9 * THEN - LEAVE, abs=1e-5)
    assert empty > 0  # waiting, which was never tried, is no better


def test_small_differences_of_values_are_not_lost() -> None:
    state = learnt()
    row = int(jnp.argmax((state.visits[:, :2] > 0).all(axis=1)))
    state = state._replace(values=state.values.at[row, :2].set(jnp.array([2.0, 2.001], jnp.float32)))
    full, empty = scores(LEARNER.tensors(state), FIRST)
    assert empty - full == pytest.approx(0.001, abs=1e-5)


def test_what_comes_later_is_known_when_what_led_to_it_is_learnt() -> None:
    state, figures = updated(LEARNER, begin(), two_states())
    assert float(state.values.max()) == pytest.approx(STAY + 0.9 * THEN)
    assert float(figures["states"]) == 2


def test_states_that_differ_in_the_order_of_nodes_are_one() -> None:
    state = begin()
    for order in ((0, 1), (1, 0)):
        state, figures = updated(LEARNER, state, two_states(order))
    assert float(figures["states"]) == 2
    tensors = LEARNER.tensors(state)
    assert scores(tensors, FIRST) == scores(tensors, FIRST[::-1])[::-1]


def test_nodes_of_one_bucket_share_a_value() -> None:
    one, other = scores(LEARNER.tensors(learnt()), SECOND)
    assert one == other > 0


def test_a_state_that_was_never_seen_scores_nothing() -> None:
    assert scores(LEARNER.tensors(learnt()), [[0.2, 0.9], [0.2, 0.9]]) == [0.0, 0.0]


def test_only_states_that_were_seen_are_kept() -> None:
    whole = LEARNER.tensors(learnt())
    kept = LEARNER.trimmed(whole)
    assert whole[KEYS].shape == (2**3,)
    assert kept[KEYS].shape == (2,)
    assert kept[VALUES].shape == (2, 3)
    for rows in (FIRST, SECOND, [[0.2, 0.9], [0.2, 0.9]]):
        assert scores(kept, rows) == scores(whole, rows)
    arrays = {name: np.asarray(leaf) for name, leaf in kept.items()}
    check(BLUEPRINT.ops, arrays, {"rows": 2, "prior": 0, "preference": 0}, BLUEPRINT.nodes)


def test_a_table_in_which_nothing_was_seen_has_a_row() -> None:
    assert LEARNER.trimmed(LEARNER.tensors(begin()))[KEYS].shape == (1,)


def waiting(learner: QTable, worth: float) -> QTableState:
    """Return a table in which waiting is worth this much everywhere, and placing nothing."""
    state = begin(learner)
    return state._replace(values=state.values.at[:, -1].set(worth), visits=jnp.ones_like(state.visits))


@pytest.mark.parametrize(("may_defer", "worth", "waits"), [(True, 1.0, True), (True, -1.0, False), (False, 1.0, False)])
def test_a_pod_waits_only_where_it_may_and_where_that_is_better(may_defer: bool, worth: float, waits: bool) -> None:
    learner = dataclasses.replace(LEARNER, may_defer=may_defer)
    seen = make_seen(np.array([FIRST, SECOND]))
    for key in jax.random.split(jax.random.PRNGKey(0), 10):
        found = acted(learner, waiting(learner, worth), key, seen)
        assert ((found == -1) == waits).all()


def test_waiting_that_is_better_has_negative_scores() -> None:
    learner = dataclasses.replace(LEARNER, may_defer=True)
    assert max(scores(learner.tensors(waiting(learner, 1.0)), FIRST)) == -1.0


def test_waiting_is_learnt_as_a_choice_of_its_own() -> None:
    learner = dataclasses.replace(LEARNER, may_defer=True)
    segment = make_segment(make_seen(np.array([[FIRST]])), [[-1]], [[-1.0]], [[True]])
    state, _ = updated(learner, begin(learner), segment)
    assert state.values[:, -1].min() == -1.0
    assert (state.values[:, :-1] == 0).all()


def test_exploration_tries_everything_that_may_be_chosen() -> None:
    learner = dataclasses.replace(LEARNER, may_defer=True, exploration=1.0)
    seen = make_seen(np.array([FIRST] * 200))
    found = acted(learner, begin(learner), jax.random.PRNGKey(0), seen)
    shares = np.bincount(np.asarray(found) + 1, minlength=3) / 200
    np.testing.assert_allclose(shares, 1 / 3, atol=5 * (2 / 9 / 200) ** 0.5)


def test_environments_in_one_cell_count_by_their_mean() -> None:
    one = np.ones((1, 4))
    segment = make_segment(make_seen(np.array([[SECOND] * 4])), 0 * one, [[1.0, 2.0, 3.0, 6.0]], one)
    state, _ = updated(LEARNER, begin(), segment)
    assert float(state.values.max()) == pytest.approx(3.0)
    assert int(state.visits.max()) == 4


def test_a_table_that_would_be_too_large_is_refused() -> None:
    with pytest.raises(InputError, match=r"10\^11 states"):
        QTable().build(Sizes(2, 10))


@pytest.mark.parametrize(
    ("learner", "want"),
    [
        (QTable(), ("node_memory_free", "pod_memory")),
        (QTable(resource="cpu", lookahead=2), ("node_cpu_free", "pod_cpu", "next_cpu")),
    ],
)
def test_it_says_what_it_reads(learner: QTable, want: tuple[str, ...]) -> None:
    assert learner.features == want
