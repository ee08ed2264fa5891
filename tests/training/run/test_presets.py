"""Presets: every value is one that its learner takes, and the thesis' are the thesis'."""

import pytest

from longshore.agents import LEARNERS, NETWORKS
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.training.run.plan import build
from longshore.training.run.presets import PRESETS, find_preset

PAIRS = [(name, learner) for name, preset in PRESETS.items() for learner in preset.learners]


@pytest.mark.parametrize(("name", "learner"), PAIRS)
def test_every_value_is_a_hyperparameter_of_its_learner(name: str, learner: str):
    given = find_preset(name, learner).learners[learner]
    made = build(LEARNERS, learner, given)
    assert {key: getattr(made, key) for key in given} == dict(given)


@pytest.mark.parametrize("name", PRESETS)
def test_every_network_of_a_preset_takes_its_sizes(name: str):
    preset = PRESETS[name]
    if preset.network:
        assert build(NETWORKS, preset.network, preset.network_config or {})


def test_the_thesis_values():
    dqn = build(LEARNERS, "dqn", find_preset("thesis", "dqn").learners["dqn"])
    assert (dqn.steps, dqn.learning_rate, dqn.exploration, dqn.learning_starts) == (2_000, 2.5e-3, 0.3, 300)
    assert (dqn.memory, dqn.batch, dqn.discount) == (10_000, 128, 0.99)


def test_a_preset_about_other_learners_is_refused():
    with pytest.raises(InputError, match=r"not about `ppo`[\s\S]*dqn"):
        find_preset("thesis", "ppo")


def test_the_default_is_about_all():
    assert find_preset("default", "evolution").learners == {}


def test_an_unknown_preset_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean `thesis`"):
        find_preset("thesys", "dqn")
