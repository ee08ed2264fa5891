"""What is assumed of nodes, and that it is announced."""

from longshore.core.words.assumed import announcements, assumed_kinds
from longshore.core.words.node import CARBON
from support.builders import make_node

NODES = (make_node("a").unannotated().build(), make_node("b").unannotated().build(), make_node("c").build())


def test_what_is_assumed_is_announced_with_how_many_nodes_it_is_about() -> None:
    assert announcements(NODES) == (
        "2 of 3 nodes have no watts: assumed 0.75 W idle and 3.75 W full for each CPU",
        "2 of 3 nodes have no price: assumed $0.03 for each CPU and $0.004 for each GiB an hour",
    )
    assert announcements(NODES, (CARBON,)) == ("2 of 3 nodes have no carbon intensity: assumed 400 g/kWh",)
    assert assumed_kinds(NODES) == {"carbon", "power", "price"}


def test_where_everything_is_said_nothing_is_announced() -> None:
    assert announcements(NODES[2:]) == ()
    assert assumed_kinds(NODES[2:]) == frozenset()
