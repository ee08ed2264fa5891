"""The cost of the edges: every row is measured on a small cluster, and a bar that is missed is said."""

import pytest

from longshore_lab.speed import edge_objects
from longshore_lab.speed.edge_objects import Size
from longshore_lab.speed.edges import MAX_SHARE, Cost, Edges, measure


def test_every_row_is_measured():
    costs = list(measure(Size(30, 600, 600), 10))
    searches = [what for what, _ in edge_objects.preemptors(1)]
    hopeless = [what for what, _ in edge_objects.hopeless(Size(30, 600, 600))]
    assert [cost.what for cost in costs] == [*(what for what, *_ in edge_objects.CHANGES), *hopeless, *searches]
    assert all(0 < cost.median_ms <= cost.p99_ms <= cost.most_ms for cost in costs)


def test_the_cluster_is_full_and_as_large_as_was_asked_for():
    edges = Edges(Size(30, 600, 600))
    kinds = ("ReplicaSet", "Service", "PersistentVolumeClaim", "PersistentVolume")
    assert sum(len(edges.objects[kind]) for kind in kinds) == 600
    assert (len(edges.cycle.view.nodes), edges.cycle.view.num_running) == (30, 600)
    state, nodes = edges.cycle.view.live.encoded().arrays.state, edges.cycle.view.live.encoded().arrays.nodes
    assert (state.requested[:, 0] == nodes.allocatable[:, 0]).all()


@pytest.mark.parametrize(
    ("cost", "is_met"),
    [
        (Cost("change", 1.0, 2.0, 90.0, 2.0), True),
        (Cost("change", 1.0, 2.1, 90.0, 2.0), False),
        (Cost("search", 5.0, 9.0, 19.0, 20.0, MAX_SHARE), True),
        (Cost("search", 5.0, 9.0, 21.0, 20.0, MAX_SHARE), False),
        (Cost("search", 5.0, 9.0, 19.0, 20.0, MAX_SHARE + 0.01), False),
    ],
)
def test_a_bar_is_missed_by_the_tail_and_by_the_longest_hold(cost: Cost, is_met: bool):
    assert cost.is_met == is_met
