"""The refinement of a training: better on what it has not seen, never worse on what it is judged by, repeatable."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from longshore.core.network.forward import LOADS, POD_KINDS
from longshore_studies.openb import refine as refining
from longshore_studies.openb.mixed_runs import LEVELS, Results, draw_runs, on_device
from longshore_studies.openb.refine import RANGES, Refinement, _equal_say, _play, refine
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.training import (
    FEATURES,
    GOALS,
    SELECTION_SEED,
    WEIGHT,
    Judged,
    Tensors,
    by_load,
    goal_weights,
    weighed,
)
from studies.openb.tables.small_trace import TRACE, write_small_trace

SETS = (("G2",), ("P100", "T4"))
# As many mixes in a generation as in a judgement, so that one compiled program plays both.
SHORT = Refinement(every=1, generations=9, deviation=0.5, population=12, mixes=4, pool=8, selection=4, judge_every=3)
SHORTER = replace(SHORT, generations=2, judge_every=1)
FRESH = range(SELECTION_SEED + 100, SELECTION_SEED + 104)
START = {
    WEIGHT: np.random.default_rng(3).normal(0, 3, (len(FEATURES), len(POD_KINDS))).astype(np.float32),
    "score.bias": np.zeros(len(POD_KINDS), np.float32),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_trace(tmp_path_factory.mktemp("trace"), num_nodes=6)


def refined(folder: Path, stage: Refinement, judged: list[Judged], start: Tensors = START, seed: int = 0) -> Tensors:
    nodes, pods = read_nodes(folder), read_pods(folder, TRACE)
    return refine(nodes, pods, SETS, GOALS["nodes"], seed, [stage], start, judged.append)


def worth(folder: Path, tensors: Tensors, seeds: range = FRESH) -> float:
    problem = Problem(read_nodes(folder), read_pods(folder, TRACE))
    fresh = on_device(draw_runs(problem, SETS, seeds, RANGES))
    weights = jax.tree.map(lambda leaf: leaf[0], goal_weights([GOALS["nodes"]]))
    return float(weighed(weights, _play(problem.num_shares, tensors, runs=fresh)).mean())


@pytest.mark.parametrize("is_steady", [False, True])
def test_it_gets_more_of_what_the_goal_asks_for(folder: Path, *, is_steady: bool) -> None:
    judged: list[Judged] = []
    found = refined(folder, replace(SHORT, is_steady=is_steady), judged)
    assert worth(folder, found) > worth(folder, START) + 10
    assert [one.generation for one in judged] == [2, 5, 8]


def test_what_is_not_better_is_not_kept(folder: Path) -> None:
    start, kept = START, []
    # Steps so large that they lead anywhere: better at first, and then no longer.
    lost = replace(SHORT, generations=1, deviation=1e6)
    for seed in range(8):
        if len(set(kept)) == 2:
            break
        judged: list[Judged] = []
        found = refined(folder, lost, judged, start, seed)
        kept.append(np.array_equal(found[WEIGHT], start[WEIGHT]))
        assert kept[-1] == (judged[0].fitness[0] <= 0)
        np.testing.assert_array_equal(judged[0].best[0][WEIGHT], found[WEIGHT])
        start = found
    assert {True, False} == set(kept)


def test_the_same_seed_gives_the_same_policy(folder: Path) -> None:
    first, second = refined(folder, SHORTER, []), refined(folder, SHORTER, [])
    np.testing.assert_array_equal(first[WEIGHT], second[WEIGHT])


def test_every_mix_has_the_same_say() -> None:
    """Two of three mixes prefer the second variant; the third gives far more than they, and does not outvote them."""
    worth = np.array([[1.0, 5.0, 9000.0], [2.0, 6.0, 7000.0]])
    found = _equal_say(worth)
    assert found[1] > found[0]
    np.testing.assert_allclose(found, _equal_say(worth / [1.0, 1.0, 1000.0]))


def test_a_mix_on_which_all_are_equal_says_nothing() -> None:
    np.testing.assert_allclose(_equal_say(np.array([[1.0, 7.0], [2.0, 7.0]])), [-0.5, 0.5])


def test_a_variant_without_a_number_is_the_worst_and_spoils_no_other() -> None:
    found = _equal_say(np.array([[1.0, 7.0], [2.0, 8.0], [np.nan, 9.0]]))
    assert np.isnan(found[2])
    np.testing.assert_allclose(found[:2], [-1.11237, 0.5], atol=1e-4)


def moved_by(folder: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[np.ndarray]:
    """Return by how much the weights for each of `LOADS` were moved, where every weight is worth moving.

    Nothing is played: what a variant is worth is how far its weights went along a random direction.
    """
    start = by_load(START)
    worth_of = np.random.default_rng(5).normal(size=start[WEIGHT].shape)

    def played(_num_shares: int, tensors: Tensors, *, runs: Any) -> Results:
        gained = ((tensors[WEIGHT] - start[WEIGHT]) * worth_of).sum()
        return Results(*(np.full((SHORT.selection, len(LEVELS)), sign * gained) for sign in (1.0, 0.0, -1.0)))

    def worth(_num_shares: int, start: Tensors, basis: Any, variants: Any, **_: Any) -> np.ndarray:
        gained = np.tensordot(variants, np.asarray(basis), 1).reshape(len(variants), -1) @ worth_of.ravel()
        return np.repeat(gained[:, None], SHORT.mixes, axis=1)

    monkeypatch.setattr(refining, "_play", played)
    monkeypatch.setattr(refining, "_worth", worth)
    monkeypatch.setattr(refining, "search_basis", basis_of)
    nodes, pods = read_nodes(folder), read_pods(folder, TRACE)
    found = refine(nodes, pods, SETS, GOALS["nodes"], 0, [SHORT], start, **given)
    moved = found[WEIGHT] - start[WEIGHT]
    return [moved[:, place :: len(LOADS)] for place in range(len(LOADS))]


def basis_of(_runs: Any, _num_shares: int, _start: Tensors, *, features: Sequence[str]) -> np.ndarray:
    """Return one direction for each weight of some features."""
    places = [FEATURES.index(name) for name in features]
    basis = np.zeros((len(places) * len(POD_KINDS), len(FEATURES), len(POD_KINDS)), np.float32)
    for number, (place, kind) in enumerate(itertools.product(places, range(len(POD_KINDS)))):
        basis[number, place, kind] = 1.0
    return basis


def test_a_policy_by_load_gets_more_of_what_the_goal_asks_for(folder: Path) -> None:
    nodes, pods, start = read_nodes(folder), read_pods(folder, TRACE), by_load(START)
    found = refine(nodes, pods, SETS, GOALS["nodes"], 0, [SHORT], start)
    assert worth(folder, found) > worth(folder, start) + 10


def test_both_ends_of_a_policy_by_load_are_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, full, scarce = moved_by(folder, monkeypatch, moves=((1, 0, 0), (0, 1, 0)))
    assert empty.any()
    assert full.any()
    assert not scarce.any()
    assert not np.allclose(empty, full)


def test_without_more_said_both_ends_move_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, full, scarce = moved_by(folder, monkeypatch)
    assert empty.any()
    assert not scarce.any()
    np.testing.assert_allclose(empty, full, atol=1e-5)


def test_what_is_added_where_cpu_is_scarce_is_searched_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, full, scarce = moved_by(folder, monkeypatch, moves=((0, 0, 1),))
    assert scarce.any()
    assert not empty.any()
    assert not full.any()


def test_of_some_features_alone_the_weights_are_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, full, _ = moved_by(folder, monkeypatch, moves=((1, 0, 0), (0, 1, 0)), features=("node_is_on",))
    place = FEATURES.index("node_is_on")
    assert empty[place].any()
    assert full[place].any()
    assert not np.delete(empty, place, axis=0).any()
