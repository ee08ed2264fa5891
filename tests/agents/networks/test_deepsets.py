"""DeepSets: the formula of its page, pooled over nodes and not over features."""

import numpy as np

from agents.toys import FEATURES, drawn, make_inputs
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.core.network.forward import SCORE, forward

NODES, WIDTH = 5, 8
BLUEPRINT = DeepSets(width=WIDTH).build(Sizes(len(FEATURES), NODES))


def test_scores_are_those_of_the_formula() -> None:
    tensors, inputs = drawn(BLUEPRINT), make_inputs(1, NODES, 2)
    hidden = np.maximum(inputs.rows @ tensors["encode.weight"] + tensors["encode.bias"], 0)
    real = hidden[:NODES]
    pooled = np.concatenate([real.mean(axis=0), real.max(axis=0)])
    own = hidden @ tensors["own.weight"] + tensors["own.bias"]
    shared = pooled @ tensors["shared.weight"] + tensors["shared.bias"]
    want = np.maximum(own + shared, 0) @ tensors["score.weight"] + tensors["score.bias"]
    np.testing.assert_allclose(forward(BLUEPRINT.ops, tensors, inputs)[SCORE], want[:, 0], rtol=1e-5, atol=1e-5)


def test_pools_are_as_wide_as_the_layer_and_not_as_the_cluster() -> None:
    values = forward(BLUEPRINT.ops, drawn(BLUEPRINT), make_inputs(1, NODES))
    assert values["pooled_mean"].shape == (WIDTH,)
    np.testing.assert_allclose(values["pooled_mean"], values["encoded"].mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(values["pooled_max"], values["encoded"].max(axis=0))


def test_a_node_is_scored_by_what_the_others_are_too() -> None:
    tensors, inputs = drawn(BLUEPRINT), make_inputs(1, NODES)
    rows = inputs.rows.copy()
    rows[1] += 1.0
    before, after = (forward(BLUEPRINT.ops, tensors, inputs._replace(rows=one))[SCORE] for one in (inputs.rows, rows))
    assert abs(after[0] - before[0]) > 1e-3
