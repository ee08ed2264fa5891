"""Tests of the cluster that changes."""

import pytest

from longshore.core.words.trace import NodeDrain, NodeFail, NodeJoin, Trace
from longshore.workloads.churn import Churn
from longshore.workloads.poisson import Poisson
from workloads.facts import creates


def nodes_of(trace: Trace, kind: type) -> list[str]:
    return [event.node for event in trace.events if isinstance(event, kind)]


def test_shares_say_how_many_nodes_change() -> None:
    trace = Churn(nodes=40, failure_share=0.1, drain_share=0.2, spare_share=0.3).trace(0)
    assert (len(nodes_of(trace, NodeFail)), len(nodes_of(trace, NodeDrain)), len(trace.absent)) == (4, 8, 12)


@pytest.mark.parametrize("seed", range(5))
def test_each_node_changes_in_one_way_and_comes_back_once(seed: int) -> None:
    trace = Churn(nodes=20).trace(seed)
    failed, drained, joined = nodes_of(trace, NodeFail), nodes_of(trace, NodeDrain), nodes_of(trace, NodeJoin)
    gone = [*failed, *drained, *trace.absent]
    assert len(set(gone)) == len(gone)
    assert len(set(joined)) == len(joined)
    assert trace.absent <= set(joined) <= set(gone)


def test_nodes_come_back_after_they_went() -> None:
    trace = Churn(nodes=40).trace(0)
    left = {event.node: event.time for event in trace.events if isinstance(event, NodeFail | NodeDrain)}
    back = {event.node: event.time for event in trace.events if isinstance(event, NodeJoin)}
    assert set(left) & set(back)
    assert all(back[node] >= left[node] for node in set(left) & set(back))


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_one_node_always_stays(nodes: int) -> None:
    trace = Churn(nodes=nodes, failure_share=1.0, drain_share=1.0, spare_share=1.0).trace(0)
    changed = {*nodes_of(trace, NodeFail), *nodes_of(trace, NodeDrain), *trace.absent}
    assert len(changed) == nodes - 1


def test_the_pods_are_poissons() -> None:
    assert creates(Churn(nodes=5).trace(4)) == creates(Poisson(nodes=5, load=0.5).trace(4))
