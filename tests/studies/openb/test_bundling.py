"""The joint policy: at the ends of its dial it is the policy of that goal, and it survives being stored."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from longshore.core.network.bundle import Bundle, Envelope, check_bundle
from longshore.core.network.forward import LOADS, POD_KINDS
from longshore.policies.base import Policy
from longshore.policies.bundle_folder import read_folder
from longshore.policies.learned import learned
from longshore.training.run.export import write_beside
from longshore_studies.openb.bundling import TERMS, envelope_of, make_bundle, split, wider
from longshore_studies.openb.tables.arrivals import arrivals
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.tables.runs import SeededRun
from longshore_studies.openb.training import FEATURES, Tensors, by_load, scored_by, steeper
from studies.openb.tables.small_trace import TRACE, write_small_trace

EVENTS = 200
MET = Envelope((-1.0,) * len(FEATURES), (1.0,) * len(FEATURES))
Placed = Callable[[Policy], np.ndarray]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """Return a small cluster and its pods."""
    folder = write_small_trace(tmp_path_factory.mktemp("trace"), num_nodes=12)
    return Problem(read_nodes(folder), read_pods(folder, TRACE))


def drawn(seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    return {
        "score.weight": rng.normal(0, 4, (len(FEATURES), len(POD_KINDS))).astype(np.float32),
        "score.bias": rng.normal(0, 4, len(POD_KINDS)).astype(np.float32),
    }


@pytest.fixture(scope="module")
def policy() -> Bundle:
    """Return a joint policy of three that nobody trained."""
    by_goal = {goal: drawn(number) for number, goal in enumerate(TERMS)}
    return make_bundle("joint", by_goal, "power", MET, {"learner": "none"}, {"figure": 1.0})


@pytest.fixture(scope="module")
def placed(problem: Problem) -> Placed:
    """Return a function that says where a policy puts the pods of a run; played plainly, nothing is compiled."""
    found = arrivals(problem.pods, problem.nodes, 7)
    run = SeededRun(7, found.order, np.ones(len(found.order), bool), found.node_rank)
    return lambda policy: play_plainly(problem, run, policy, EVENTS)[0]


@pytest.mark.parametrize(("number", "goal"), list(enumerate(TERMS)))
def test_an_end_of_the_dial_is_the_policy_of_that_goal(placed: Placed, policy: Bundle, number: int, goal: str) -> None:
    assert np.array_equal(placed(scored_by(drawn(number))), placed(learned(policy, {TERMS[goal]: 1.0})))


def test_without_weights_the_dial_is_where_the_bundle_set_it(placed: Placed, policy: Bundle) -> None:
    assert np.array_equal(placed(learned(policy)), placed(learned(policy, {"watts": 1.0})))


def test_a_stored_policy_is_the_same(placed: Placed, policy: Bundle, tmp_path: Path) -> None:
    check_bundle(policy)
    write_beside(tmp_path, policy)
    again = read_folder(tmp_path)
    assert again.tie_tolerance == policy.tie_tolerance == 1.0
    assert np.array_equal(placed(learned(policy)), placed(learned(again)))


def test_the_envelope_holds_what_the_features_can_be(problem: Problem) -> None:
    found = envelope_of(problem, [scored_by(drawn(0))], seed=1)
    low, high = np.array(found.low), np.array(found.high)
    assert (low < high).all()
    assert low.min() >= -1.1
    assert high.max() <= 1.1
    # Some GPU is free at the start, and none is at the end.
    place = FEATURES.index("gpu_wholly_free")
    assert low[place] < 0.01
    assert high[place] > 0.9


def test_a_joint_policy_falls_apart_into_what_it_was_made_of() -> None:
    """Weights by load come back as such, those that are the same at any load as one set."""
    by_goal = {goal: drawn(number) for number, goal in enumerate(TERMS)}
    by_goal["nodes"] = steeper(by_load(by_goal["nodes"]), 0.5)
    by_goal["nodes"]["score.weight"][:, :: len(LOADS)] += 1.0
    by_goal["power"] = by_load(by_goal["power"])
    by_goal["power"]["score.weight"][:, 2 :: len(LOADS)] += 1.0
    policy = make_bundle("joint", by_goal, "nodes", MET, {}, {})
    again = split(policy)
    assert again.keys() == by_goal.keys()
    for goal, tensors in by_goal.items():
        for name, leaf in tensors.items():
            np.testing.assert_array_equal(again[goal][name], leaf)


def test_a_policy_by_load_changes_as_the_cluster_fills(placed: Placed) -> None:
    first, last = drawn(0), drawn(1)
    both = by_load(first)
    for name, leaf in both.items():
        leaf[..., 1 :: len(LOADS)] = last[name]
    played = [placed(scored_by(one)) for one in (first, last, both)]
    differs = played[0] != played[2]
    # It begins as the one for an empty cluster does, and leaves its way later.
    assert 0 < np.argmax(differs) < len(differs)
    assert (played[1] != played[2]).any()


def test_the_same_weights_at_both_ends_are_the_policy_without_load(placed: Placed) -> None:
    plain, wide = (placed(scored_by(one)) for one in (drawn(4), steeper(by_load(drawn(4)), 0.5)))
    np.testing.assert_array_equal(plain, wide)


def test_steeper_moves_the_empty_end_away_from_the_full_one() -> None:
    tensors = {"score.weight": np.zeros((1, len(LOADS) * len(POD_KINDS)), np.float32)}
    tensors["score.weight"][:, :: len(LOADS)] = 4.0
    tensors["score.weight"][:, 2 :: len(LOADS)] = 7.0
    moved = steeper(tensors, 0.25)["score.weight"]
    assert (moved[:, :: len(LOADS)] == 5.0).all()
    assert not moved[:, 1 :: len(LOADS)].any()
    assert (moved[:, 2 :: len(LOADS)] == 7.0).all()
    assert (tensors["score.weight"][:, :: len(LOADS)] == 4.0).all()


def test_a_wider_envelope_holds_both() -> None:
    found = wider(Envelope((0.0, -1.0), (1.0, 0.0)), Envelope((0.5, -2.0), (3.0, -1.0)))
    assert (found.low, found.high) == ((0.0, -2.0), (3.0, 0.0))
