"""MLP: for one number of nodes, and their order matters, as in the seeds that it stands for."""

import numpy as np

from agents.toys import FEATURES, drawn, make_inputs, permuted
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.mlp import Mlp
from longshore.core.network.forward import SCORE, forward

NODES = 4
BLUEPRINT = Mlp(width=8, layers=2).build(Sizes(len(FEATURES), NODES))


def test_it_says_for_how_many_nodes_it_is() -> None:
    assert BLUEPRINT.nodes == NODES
    assert dict(BLUEPRINT.shapes)["layer0.weight"].shape == (NODES * len(FEATURES), 8)
    assert dict(BLUEPRINT.shapes)["score.weight"].shape == (8, NODES)


def test_layers_are_as_many_as_asked_for() -> None:
    names = {name for name, _ in Mlp(layers=3).build(Sizes(len(FEATURES), NODES)).shapes}
    assert {"layer0.weight", "layer1.weight", "layer2.weight"} <= names
    assert "layer3.weight" not in names


def test_the_order_of_the_nodes_matters() -> None:
    tensors, inputs = drawn(BLUEPRINT), make_inputs(0, NODES)
    order = np.array([2, 0, 3, 1])
    plain, moved = (forward(BLUEPRINT.ops, tensors, one)[SCORE] for one in (inputs, permuted(inputs, order)))
    assert not np.allclose(moved, plain[order], atol=1e-3)
