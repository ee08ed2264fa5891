"""Round robin goes by name, from the last node on, past nodes that are not feasible."""

import numpy as np
import pytest

from longshore.core.arrays.choose import choose
from longshore.core.arrays.place import place
from longshore.policies.heuristics.round_robin import POLICY
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


@pytest.mark.parametrize("padded_nodes", [3, 5])
def test_round_robin_visits_every_node_by_name(padded_nodes: int) -> None:
    nodes = (make_node("c"), make_node("a"), make_node("b"))
    encoded = encode(make_snapshot(*nodes, make_pod("p").cpu(10)), padded_nodes=padded_nodes)
    arrays, visited = encoded.arrays, []
    for _ in range(4):
        node = choose(arrays, POLICY.score(arrays, 0, arrays.nodes.is_real), arrays.nodes.is_real)
        visited.append(encoded.node_names[node])
        arrays = place(arrays, 0, node, np.zeros(0, np.int64))
    assert visited == ["a", "b", "c", "a"]


def test_round_robin_skips_nodes_that_are_not_feasible() -> None:
    encoded = encode(make_snapshot(make_node("a"), make_node("b"), make_node("c"), make_pod("p").on("")))
    state = encoded.arrays.state._replace(last_node=np.array(0, np.int32))
    arrays, mask = encoded.arrays._replace(state=state), np.array([True, False, True])
    assert choose(arrays, POLICY.score(arrays, 0, mask), mask) == 2
