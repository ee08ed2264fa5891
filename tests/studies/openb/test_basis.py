"""Directions to search in: each changes the scores of a decision's nodes as much as any other."""

import numpy as np
import pytest

from longshore.core.network.forward import LOADS, POD_KINDS
from longshore_studies.openb import basis as filling_basis
from longshore_studies.openb.basis import at_loads, search_basis
from longshore_studies.openb.mixed_runs import Runs, draw_runs, on_device
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.training import FEATURES
from studies.openb.tables.small_trace import TRACE, write_small_trace

TENSORS = {
    "score.weight": np.random.default_rng(1).normal(0, 3, (len(FEATURES), len(POD_KINDS))).astype(np.float32),
    "score.bias": np.zeros(len(POD_KINDS), np.float32),
}


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    folder = write_small_trace(tmp_path_factory.mktemp("trace"), num_nodes=12)
    return Problem(read_nodes(folder), read_pods(folder, TRACE))


@pytest.fixture(scope="module")
def runs(problem: Problem) -> Runs:
    return on_device(draw_runs(problem, (("G2",),), range(3)))


def test_a_direction_is_of_one_kind_of_pod_and_finite(problem: Problem, runs: Runs) -> None:
    basis = search_basis(runs, problem.num_shares, TENSORS)
    assert basis.shape[1:] == (len(FEATURES), len(POD_KINDS))
    assert np.isfinite(basis).all()
    assert ((basis != 0).any(axis=1).sum(axis=1) == 1).all()
    # Features that are the same on all nodes of every decision are in no direction, or hardly.
    assert 0 < len(basis) < len(FEATURES) * len(POD_KINDS) / 2


def test_scores_differ_equally_in_all_directions(problem: Problem, runs: Runs) -> None:
    basis = search_basis(runs, problem.num_shares, TENSORS)
    outcomes = filling_basis._play(problem.num_shares, TENSORS, runs)
    variances: dict[int, list[np.ndarray]] = {}
    for number in range(3):
        one = filling_basis._one(runs.filling, number)
        for kind, rows in filling_basis._decisions(one, outcomes, number, 300):
            variances.setdefault(kind, []).append((rows @ basis[:, :, kind].T).var(axis=0))
    spreads = []
    for kind, found in variances.items():
        own = (basis[:, :, kind] != 0).any(axis=1)
        spread = np.mean(found, axis=0)
        assert spread[~own].max() == 0
        spreads.extend(spread[own])
    # At most 1; less only for directions in which nodes hardly differ.
    assert max(spreads) < 1.0001
    assert np.mean(np.array(spreads) > 0.9) > 0.5


def test_at_some_loads_a_direction_moves_their_weights_alone() -> None:
    basis = np.random.default_rng(2).normal(size=(3, len(FEATURES), len(POD_KINDS))).astype(np.float32)
    apart = at_loads(basis, ((1, 1, 0), (0, 0, 1)))
    assert apart.shape == (6, len(FEATURES), len(LOADS) * len(POD_KINDS))
    for place, moves in enumerate(((1, 1, 0), (0, 0, 1))):
        for load, by in enumerate(moves):
            np.testing.assert_array_equal(apart[3 * place :][:3, :, load :: len(LOADS)], by * basis)


def test_where_some_features_are_searched_only_their_weights_move(problem: Problem, runs: Runs) -> None:
    basis = search_basis(runs, problem.num_shares, TENSORS, features=("gpu_opens", "cpu_per_gpu"))
    moved = {FEATURES[place] for place in np.flatnonzero((basis != 0).any(axis=(0, 2)))}
    assert moved == {"gpu_opens", "cpu_per_gpu"}
