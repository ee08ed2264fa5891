"""Experience laid side by side, and the two kinds of learners there are."""

import jax.numpy as jnp
import numpy as np
import pytest

from agents.toys import make_seen
from longshore.agents import LEARNERS
from longshore.agents.base import Learner, Population, flattened


def test_flattened_keeps_each_decision_together() -> None:
    rows = np.arange(2 * 3 * 4 * 1).reshape(2, 3, 4, 1)
    found = flattened((make_seen(rows), jnp.arange(6).reshape(2, 3)))
    assert found[1].tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(found[0].inputs.rows, rows.reshape(6, 4, 1))


@pytest.mark.parametrize("name", LEARNERS.names())
def test_every_learner_is_of_one_kind(name: str) -> None:
    learner = LEARNERS.load(name)()
    assert isinstance(learner, Learner) != isinstance(learner, Population)
