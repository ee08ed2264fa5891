"""It learns: PPO with DeepSets finds the thesis' optimum in a fortieth of its budget, and not when taught to lose."""

from typing import Any

import jax
import numpy as np
import pytest

from longshore.training.run.plan import Plan
from longshore.training.run.prepare import Prepared, prepare
from support import jax_arrays  # noqa: F401

OPTIMUM = 118.6
"""Of el-rl on test1, by dynamic programming; see `evaluation/optimum_dp.py`."""


def learnt(prepared: Prepared, sign: float) -> dict[str, Any]:
    """Train one chunk, with all rewards multiplied by `sign`; the program is the same for both signs."""
    data = prepared.data
    data = data._replace(scale=data.scale._replace(weights=sign * data.scale.weights))
    state = prepared.program.init(data, jax.vmap(jax.random.PRNGKey)(np.arange(1)))
    _, figures = prepared.program.chunk(data, state)
    return {name: np.asarray(value)[0] for name, value in figures.items()}


@pytest.mark.slow
def test_it_comes_to_99_percent_of_the_optimum_and_not_when_taught_to_lose() -> None:
    prepared = prepare(Plan(learner="ppo", network="deepsets", objective="el-rl", workload="test1", evaluations=40))
    found = learnt(prepared, 1.0)
    assert found["decided"] < 0.05 * prepared.steps
    assert 0.99 * OPTIMUM <= found["selection_return"] <= OPTIMUM + 1e-6
    # Whoever flips a sign between the reward and the loss sees this.
    assert learnt(prepared, -1.0)["selection_return"] < 100
