"""`cost`: what the nodes that are on cost."""

from longshore.objectives.cost import Cost
from objectives.clusters import node, spec, transition


def test_cost_counts_only_nodes_with_pods() -> None:
    nodes = [node("a", cost_per_hour=0.5), node("b", cost_per_hour=2.0), node("c", cost_per_hour=8.0)]
    on = {"a": [spec()]}
    assert Cost().reward(transition(nodes, on, "a", padded_nodes=6)) == -0.5
    assert Cost().reward(transition(nodes, on, "b")) == -2.5
