"""`lc`: the node with the fewest known connections."""

import pytest

from longshore.core.words.node import Node, NodeReadings
from longshore.objectives.lc import LeastConnections
from objectives.clusters import node, transition


def nodes(*connections: float | None) -> list[Node]:
    return [node(f"n{i}", readings=NodeReadings(connections=count)) for i, count in enumerate(connections)]


@pytest.mark.parametrize(
    ("to", "want"),
    [
        pytest.param("n0", 0.0, id="more than the fewest"),
        pytest.param("n1", 1.0, id="one of two with the fewest"),
        pytest.param("n2", 1.0, id="the other"),
        pytest.param("n3", 0.0, id="unknown is worst, although its empty reading is 0"),
    ],
)
def test_lc_rewards_the_fewest_connections(to: str, want: float) -> None:
    step = transition(nodes(9.0, 4.0, 4.0, None), {}, to, padded_nodes=6)
    assert LeastConnections().reward(step) == want
    assert bool(LeastConnections(strict=True).ends_episode(step)) is (want == 0.0)
    assert not LeastConnections().ends_episode(step)


def test_lc_without_any_reading_gives_nothing_and_calls_none_wrong() -> None:
    step = transition(nodes(None, None), {}, "n0")
    assert LeastConnections().reward(step) == 0.0
    assert not LeastConnections(strict=True).ends_episode(step)
