"""The joint policy: at the ends of its dial it is the policy of that goal, and it survives being stored."""

from pathlib import Path

import jax
import numpy as np
import pytest

from longshore.core.network.bundle import Envelope, Policy, check_policy
from longshore.core.network.forward import LOADS, POD_KINDS
from longshore.policies.bundle_folder import read_folder
from longshore.policies.learned import learned
from longshore.training.run.export import write_policy
from longshore_studies.openb.bundling import TERMS, envelope_of, make_policy, split, wider
from longshore_studies.openb.filling import fill_all
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem, side_by_side
from longshore_studies.openb.training import FEATURES, Tensors, by_load, scored_by, steeper
from studies.openb.tables.small_trace import TRACE, write_small_trace

jax.config.update("jax_enable_x64", True)


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
def policy(problem: Problem) -> Policy:
    """Return a joint policy of three that nobody trained."""
    by_goal = {goal: drawn(number) for number, goal in enumerate(TERMS)}
    envelope = envelope_of(problem, [scored_by(one) for one in by_goal.values()], seed=1)
    return make_policy("joint", by_goal, "power", envelope, {"learner": "none"}, {"figure": 1.0})


@pytest.mark.parametrize(("number", "goal"), list(enumerate(TERMS)))
def test_an_end_of_the_dial_is_the_policy_of_that_goal(
    problem: Problem, policy: Policy, number: int, goal: str
) -> None:
    runs = side_by_side([problem.run(7)[0]])
    alone = fill_all(scored_by(drawn(number)), runs, problem.num_shares)
    joint = fill_all(learned(policy, {TERMS[goal]: 1.0}), runs, problem.num_shares)
    assert np.array_equal(alone.node, joint.node)


def test_without_weights_the_dial_is_where_the_bundle_set_it(problem: Problem, policy: Policy) -> None:
    runs = side_by_side([problem.run(7)[0]])
    own = fill_all(learned(policy), runs, problem.num_shares)
    assert np.array_equal(own.node, fill_all(learned(policy, {"watts": 1.0}), runs, problem.num_shares).node)


def test_a_stored_policy_is_the_same(problem: Problem, policy: Policy, tmp_path: Path) -> None:
    check_policy(policy)
    write_policy(tmp_path, policy)
    again = read_folder(tmp_path)
    assert again.tie_tolerance == policy.tie_tolerance == 1.0
    runs = side_by_side([problem.run(7)[0]])
    before, after = (fill_all(learned(one), runs, problem.num_shares) for one in (policy, again))
    assert np.array_equal(before.node, after.node)


def test_the_envelope_holds_what_the_features_can_be(policy: Policy) -> None:
    low, high = np.array(policy.envelope.low), np.array(policy.envelope.high)
    assert (low < high).all()
    assert low.min() >= -1.1
    assert high.max() <= 1.1
    # Some GPU is free at the start, and none is at the end.
    place = FEATURES.index("gpu_wholly_free")
    assert low[place] < 0.01
    assert high[place] > 0.9


def test_a_joint_policy_falls_apart_into_what_it_was_made_of(problem: Problem) -> None:
    """Weights by load come back as such, those that are the same at any load as one set."""
    by_goal = {goal: drawn(number) for number, goal in enumerate(TERMS)}
    by_goal["nodes"] = steeper(by_load(by_goal["nodes"]), 0.5)
    by_goal["nodes"]["score.weight"][:, :: len(LOADS)] += 1.0
    by_goal["power"] = by_load(by_goal["power"])
    by_goal["power"]["score.weight"][:, 2 :: len(LOADS)] += 1.0
    policy = make_policy("joint", by_goal, "nodes", envelope_of(problem, [], seed=1), {}, {})
    again = split(policy)
    assert again.keys() == by_goal.keys()
    for goal, tensors in by_goal.items():
        for name, leaf in tensors.items():
            np.testing.assert_array_equal(again[goal][name], leaf)


def test_a_policy_by_load_changes_as_the_cluster_fills(problem: Problem) -> None:
    first, last = drawn(0), drawn(1)
    both = by_load(first)
    for name, leaf in both.items():
        leaf[..., 1 :: len(LOADS)] = last[name]
    runs = side_by_side([problem.run(7)[0]])
    played = [np.asarray(fill_all(scored_by(one), runs, problem.num_shares).node[0]) for one in (first, last, both)]
    differs = played[0] != played[2]
    # It begins as the one for an empty cluster does, and leaves its way later.
    assert 0 < np.argmax(differs) < len(differs)
    assert (played[1] != played[2]).any()


def test_the_same_weights_at_both_ends_are_the_policy_without_load(problem: Problem) -> None:
    runs = side_by_side([problem.run(7)[0]])
    plain, wide = (
        fill_all(scored_by(one), runs, problem.num_shares).node for one in (drawn(4), steeper(by_load(drawn(4)), 0.5))
    )
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
