"""`watts`: minus the cluster's power."""

from longshore.core.words.node import NodePower
from longshore.objectives.watts import Watts
from objectives.clusters import daemon, node, spec, transition

NODES = [node("a", power=NodePower((100.0, 300.0))), node("b", power=NodePower((50.0, 150.0)))]


def test_watts_counts_idle_nodes_unless_they_are_switched_off() -> None:
    # a: 400 + 100 of 1000 milli-CPU = half way from 100 W to 300 W; b: idle.
    step = transition(NODES, {"a": [spec(400)]}, "a", padded_nodes=5)
    assert Watts().reward(step) == -(200.0 + 50.0)
    assert Watts(switch_off_idle=True).reward(step) == -200.0
    assert not Watts().ends_episode(step)


def test_watts_of_nodes_with_daemonsets_alone_are_saved_where_idle_nodes_are_switched_off() -> None:
    step = transition(NODES, {"a": [spec(400)], "b": [daemon(500)]}, "a")
    assert Watts().reward(step) == -(200.0 + 100.0)
    assert Watts(switch_off_idle=True).reward(step) == -200.0
