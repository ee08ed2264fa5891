"""Choosing: the best feasible node, ties by name or by seed."""

from typing import NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from longshore.core.arrays.choose import TIE_TOLERANCE, choose, choose_two
from longshore.core.arrays.cluster_arrays import ClusterArrays
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import to_jax

# Order of names: a, b, c, d; order of rows: c, a, d, b.
NAMES = ("c", "a", "d", "b")
ARRAYS = encode(make_snapshot(*map(make_node, NAMES), make_pod("p"))).arrays


def at(seed: int, step: int) -> ClusterArrays:
    return ARRAYS._replace(state=ARRAYS.state._replace(seed=np.array(seed, np.uint32), step=np.array(step, np.uint32)))


def name_of(node: object) -> str | None:
    return NAMES[int(node)] if node >= 0 else None


class Case(NamedTuple):
    """Scores of c, a, d and b, and who of them is feasible."""

    scores: list[float]
    feasible: list[bool]
    want: str | None


ALL = [True] * 4
CASES = {
    "the best": Case([1.0, 2.0, 3.0, 0.0], ALL, "d"),
    "the best of the feasible": Case([1.0, 2.0, 3.0, 0.0], [True, True, False, True], "a"),
    "negative scores": Case([-5.0, -2.0, -3.0, -9.0], ALL, "a"),
    "equal scores go to the lowest name": Case([7.0] * 4, ALL, "a"),
    "the lowest name of the feasible": Case([7.0] * 4, [True, False, True, True], "b"),
    "scores within the tolerance tie": Case([1.0, 0.0, 1.0 - 0.9e-6, 1.0 - 0.5e-6], ALL, "b"),
    "scores beyond the tolerance do not": Case([1.0, 0.0, 0.0, 1.0 - 1.5e-6], ALL, "c"),
    "nobody is feasible": Case([1.0] * 4, [False] * 4, None),
    "an infeasible node's score is never read": Case([np.nan, 1.0, np.inf, 0.5], [False, True, False, True], "a"),
    "minus infinity is still feasible": Case([-np.inf] * 4, [False, False, True, True], "b"),
    "no number is worse than any number": Case([np.nan, 0.5, np.nan, 1.0], ALL, "b"),
    "no number at all is a tie of the feasible": Case([np.nan] * 4, [False, False, True, True], "b"),
}

compiled_choose = jax.jit(choose, static_argnames="has_random_ties")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_choose_picks_the_best_feasible_node(case: Case) -> None:
    assert name_of(choose(ARRAYS, np.array(case.scores), np.array(case.feasible))) == case.want


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_choose_under_jit_picks_the_same_node(case: Case) -> None:
    scores, feasible = to_jax((np.array(case.scores), np.array(case.feasible)))
    assert name_of(compiled_choose(to_jax(ARRAYS), scores, feasible)) == case.want


@pytest.mark.parametrize(("tie_tolerance", "want"), [(0.0, "d"), (0.9, "d"), (1.0, "b"), (2.5, "b"), (3.0, "a")])
def test_scores_within_a_given_tolerance_tie(tie_tolerance: float, want: str) -> None:
    scores, feasible = np.array([1.5, 1.0, 4.0, 3.0]), np.array(ALL)
    assert name_of(choose(ARRAYS, scores, feasible, tie_tolerance=tie_tolerance)) == want
    assert name_of(choose(*to_jax((ARRAYS, scores, feasible)), tie_tolerance=tie_tolerance)) == want


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_choose_takes_the_score_types_of_heuristics_and_networks(dtype: type) -> None:
    scores, feasible = np.array([10, 700, 699, 700], dtype), np.array(ALL)
    assert name_of(choose(ARRAYS, scores, feasible)) == "a"
    assert name_of(compiled_choose(*to_jax((ARRAYS, scores, feasible)))) == "a"


def test_choose_tolerates_nothing_between_integers() -> None:
    assert TIE_TOLERANCE < 1
    assert name_of(choose(ARRAYS, np.array([2**40, 2**40 - 1, 0, 0]), np.array(ALL))) == "c"


def test_random_ties_are_reproducible() -> None:
    tied = np.array(ALL)
    picks = [
        [int(choose(at(5, step), np.zeros(4), tied, has_random_ties=True)) for step in range(50)] for _ in range(2)
    ]
    assert picks[0] == picks[1]


@pytest.mark.parametrize("vary", ["seed", "step"])
def test_random_ties_are_spread_over_all_ties(vary: str) -> None:
    tied = np.array([True, True, False, True])
    where = [at(i, 3) if vary == "seed" else at(3, i) for i in range(600)]
    counts = np.bincount(
        [int(choose(arrays, np.zeros(4), tied, has_random_ties=True)) for arrays in where], minlength=4
    )
    assert counts[2] == 0
    # 200 each is expected, with a standard deviation of 12.
    assert (np.abs(counts[[0, 1, 3]] - 200) < 60).all()


def test_random_ties_follow_names_and_not_rows() -> None:
    other = encode(make_snapshot(*map(make_node, sorted(NAMES)), make_pod("p"))).arrays
    for seed in range(20):
        arrays = other._replace(state=at(seed, 0).state)
        picked = sorted(NAMES)[int(choose(arrays, np.zeros(4), np.array(ALL), has_random_ties=True))]
        assert picked == name_of(choose(at(seed, 0), np.zeros(4), np.array(ALL), has_random_ties=True))


def test_random_ties_never_beat_a_better_score() -> None:
    for seed in range(50):
        node = choose(at(seed, 0), np.array([1.0, 0.0, 1.0, 0.0]), np.array(ALL), has_random_ties=True)
        assert name_of(node) in ("c", "d")


scores_of = arrays_of.arrays(
    np.float64, 4, elements=st.sampled_from([0.0, 1.0, 1.0 + 0.8e-6, 1.0 + 1.2e-6, -3.0, np.inf, np.nan])
)
masks = arrays_of.arrays(bool, 4)


@settings(max_examples=60)
@given(scores_of, masks, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.booleans())
def test_choose_is_feasible_and_the_same_in_jax(
    scores: np.ndarray, feasible: np.ndarray, seed: int, step: int, has_random_ties: bool
) -> None:
    arrays = at(seed, step)
    node = int(choose(arrays, scores, feasible, has_random_ties=has_random_ties))
    assert feasible[node] if feasible.any() else node == -1
    there = to_jax((arrays, scores, feasible))
    assert int(compiled_choose(*there, has_random_ties=has_random_ties)) == node


@settings(max_examples=100)
@given(scores_of, masks, st.integers(0, 2**32 - 1), st.booleans())
def test_choose_two_is_choose_with_and_without_the_first(
    scores: np.ndarray, feasible: np.ndarray, seed: int, has_random_ties: bool
) -> None:
    arrays = at(seed, 7)
    node, second = choose_two(arrays, scores, feasible, has_random_ties=has_random_ties)
    assert node == int(choose(arrays, scores, feasible, has_random_ties=has_random_ties))
    others = feasible.copy()
    others[node] = False
    assert second == int(choose(arrays, scores, others, has_random_ties=has_random_ties))


DEFER_CASES = {
    "all are worse than waiting": Case([-1.0, -2.0, -0.5, -3.0], ALL, None),
    "one is as good as waiting": Case([-1.0, -2.0, 0.0, -3.0], ALL, "d"),
    "the one that is better is not feasible": Case([-1.0, -2.0, 5.0, -3.0], [True, True, False, True], None),
    "nobody is feasible": Case([1.0] * 4, [False] * 4, None),
    "no number at all is no reason to wait": Case([np.nan] * 4, ALL, "a"),
    "a number below 0 beside no number": Case([np.nan, -1.0, np.nan, np.nan], ALL, None),
}


@pytest.mark.parametrize("case", DEFER_CASES.values(), ids=DEFER_CASES)
def test_choose_waits_where_every_score_is_below_0_and_the_policy_may_defer(case: Case) -> None:
    compiled = jax.jit(choose, static_argnames="may_defer")
    scores, feasible = np.array(case.scores), np.array(case.feasible)
    assert name_of(choose(ARRAYS, scores, feasible, may_defer=True)) == case.want
    assert name_of(compiled(to_jax(ARRAYS), scores, feasible, may_defer=True)) == case.want
