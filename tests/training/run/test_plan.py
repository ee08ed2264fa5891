"""Plans: plain data that builds the same learner again, and refuses what it does not know."""

import dataclasses
import json
from typing import Any

import pytest

from longshore.agents import LEARNERS, NETWORKS
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.training.run.plan import SELECTION_SEED, TRAINING_SEED, Plan, build, read_plan

PLAN = Plan(
    learner="dqn",
    network="gnn",
    learner_config={"learning_rate": 0.01, "double": False},
    network_config={"rounds": 3},
    workload_config={"nodes": 5},
    features=("latency", "is_feasible"),
    limit="p99_latency_ms<=25",
    dial=True,
)


def test_a_plan_comes_back_from_json() -> None:
    assert read_plan(json.loads(json.dumps(PLAN.to_json()))) == PLAN


def test_a_plan_builds_what_it_says() -> None:
    learner, network = PLAN.build_learner(), PLAN.build_network()
    assert (learner.learning_rate, learner.double) == (0.01, False)
    assert network == NETWORKS.load("gnn")(rounds=3)


@pytest.mark.parametrize("name", LEARNERS.names())
def test_the_defaults_are_the_learners_own(name: str) -> None:
    assert Plan(learner=name).build_learner() == LEARNERS.load(name)()


def test_values_may_be_text_as_a_command_line_gives_them() -> None:
    found = build(LEARNERS, "dqn", {"learning_rate": "0.5", "batch": "8", "double": "false"})
    assert (found.learning_rate, found.batch, found.double) == (0.5, 8, False)


def test_an_unknown_hyperparameter_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="learning_rate") as raised:
        build(LEARNERS, "ppo", {"lerning_rate": 1})
    assert "hyperparameter of learner `ppo`" in str(raised.value)


def test_an_unknown_learner_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="`dqn`"):
        Plan(learner="dqm").build_learner()


def test_a_value_of_the_wrong_type_is_refused_with_the_defaults() -> None:
    with pytest.raises(InputError, match="learner `ppo`") as raised:
        build(LEARNERS, "ppo", {"epochs": "many"})
    assert "`epochs` (default 4)" in str(raised.value)


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(InputError, match="no training plan"):
        read_plan({"learner": 3})


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLAN.seed = 3  # type: ignore[misc]


def test_seeds_of_one_purpose_are_far_from_those_of_another() -> None:
    # Reports use seeds from 0.
    assert 0 < TRAINING_SEED < SELECTION_SEED
    assert min(TRAINING_SEED, SELECTION_SEED - TRAINING_SEED) >= 100_000


@pytest.mark.parametrize(
    ("learner", "config", "want"),
    [
        ("ppo", {"envs": 0}, "envs `0`, expected 1 or more"),
        ("ppo", {"steps": -5}, "steps `-5`, expected 1 or more"),
        ("dqn", {"horizon": 0}, "horizon `0`, expected 1 or more"),
        ("dqn", {"discount": 1.5}, "discount `1.5`, expected 0 to 1"),
        ("evolution", {"population": 1}, "population `1`, expected 2 or more"),
        ("qtable", {"lookahead": 3}, "lookahead `3`, expected 1 to 2"),
        ("ppo", {"learning_rate": float("nan")}, "learning_rate `nan`"),
    ],
)
def test_numbers_with_which_nothing_can_be_learnt_are_refused(learner: str, config: dict[str, Any], want: str) -> None:
    with pytest.raises(InputError, match=want):
        Plan(learner=learner, learner_config=config).build_learner()


def test_decisions_may_start_without_waiting() -> None:
    assert Plan(learner="dqn", learner_config={"learning_starts": 0}).build_learner().learning_starts == 0
