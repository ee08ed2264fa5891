"""`cost`: what the nodes that are on cost."""

from longshore.objectives.cost import Cost
from objectives.clusters import daemon, node, spec, transition


def test_cost_counts_only_nodes_with_pods() -> None:
    nodes = [node("a", cost_per_hour=0.5), node("b", cost_per_hour=2.0), node("c", cost_per_hour=8.0)]
    on = {"a": [spec()]}
    assert Cost().reward(transition(nodes, on, "a", padded_nodes=6)) == -0.5
    assert Cost().reward(transition(nodes, on, "b")) == -2.5


def test_cost_leaves_nodes_with_daemonsets_alone_out() -> None:
    nodes = [node("a", cost_per_hour=0.5), node("b", cost_per_hour=2.0)]
    assert Cost().reward(transition(nodes, {"b": [daemon()]}, "a")) == -0.5
