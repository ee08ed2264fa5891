"""Linear: a weighted sum of a node's own features, and nothing else."""

import numpy as np

from agents.toys import FEATURES, drawn, make_inputs
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.linear import Linear
from longshore.core.network.forward import SCORE, forward

BLUEPRINT = Linear().build(Sizes(len(FEATURES), 4))


def test_scores_are_weighted_sums_of_the_rows() -> None:
    tensors, inputs = drawn(BLUEPRINT), make_inputs(0, 4)
    want = inputs.rows @ tensors["score.weight"] + tensors["score.bias"]
    np.testing.assert_allclose(forward(BLUEPRINT.ops, tensors, inputs)[SCORE], want[:, 0], rtol=1e-5)


def test_a_node_is_scored_by_its_own_row_alone() -> None:
    tensors, inputs = drawn(BLUEPRINT), make_inputs(0, 4)
    rows = inputs.rows.copy()
    rows[1:] += 1.0
    before, after = (forward(BLUEPRINT.ops, tensors, inputs._replace(rows=one))[SCORE] for one in (inputs.rows, rows))
    assert after[0] == before[0]
    assert (after[1:] != before[1:]).all()
