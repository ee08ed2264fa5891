"""GNN: messages come from the node's zone, from the nodes of the same app and from all, and as far as rounds reach."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents.toys import FEATURES, drawn, make_inputs
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.gnn import RELATIONS, Gnn
from longshore.core.network.forward import SCORE, Inputs, forward

NODES = 5
SIZES = Sizes(len(FEATURES), NODES)
INPUTS = make_inputs(0, NODES)._replace(
    zone=np.array([1, 1, 2, 2, 0], np.int32), app=np.array([0, 0, 3, 0, 0], np.float32)
)


def only(relation: str) -> dict[str, Any]:
    """Draw tensors that listen to one relation alone."""
    tensors = drawn(Gnn(width=8, rounds=1).build(SIZES))
    for other, _ in RELATIONS:
        if other != relation:
            tensors[f"{other}0.weight"][...] = 0
    return tensors


def moved(tensors: dict[str, Any], changed: int, inputs: Inputs = INPUTS) -> list[bool]:
    """Say whose scores change when the row of one node does."""
    blueprint = Gnn(width=8, rounds=1).build(SIZES)
    rows = inputs.rows.copy()
    rows[changed] += 1.0
    before, after = (forward(blueprint.ops, tensors, inputs._replace(rows=one))[SCORE] for one in (inputs.rows, rows))
    return (np.abs(after - before) > 1e-4).tolist()


@pytest.mark.parametrize(
    ("relation", "changed", "want"),
    [
        ("zone", 0, [True, True, False, False, False]),
        ("zone", 4, [False, False, False, False, True]),
        ("app", 2, [True] * 5),
        ("app", 3, [False, False, False, True, False]),
        ("all", 3, [True] * 5),
    ],
)
def test_messages_go_where_the_graph_says(relation: str, changed: int, want: list[bool]) -> None:
    assert moved(only(relation), changed) == want


def test_messages_of_an_app_count_its_pods() -> None:
    blueprint, tensors = Gnn(width=8, rounds=1).build(SIZES), only("app")
    heavier = INPUTS._replace(app=np.array([1, 0, 3, 0, 0], np.float32))
    before, after = (forward(blueprint.ops, tensors, one)[SCORE] for one in (INPUTS, heavier))
    assert (np.abs(after - before) > 1e-4).any()


def test_rounds_are_layers_of_their_own() -> None:
    names = [{name for name, _ in replace(Gnn(), rounds=rounds).build(SIZES).shapes} for rounds in (1, 2)]
    assert {f"{relation}1.weight" for relation, _ in RELATIONS} | {"self1.weight"} <= names[1] - names[0]
