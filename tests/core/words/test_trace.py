"""Traces: the cluster that is compiled from them."""

from longshore.core.words.snapshot import Namespace
from longshore.core.words.trace import Create, Delete, Trace
from support.builders import make_node, make_pod


def test_snapshot_has_every_node_and_every_pod_waiting():
    pods = [make_pod(name).build() for name in ("p", "q")]
    events = (Create(1.0, pods[0]), Delete(2.0, pods[0].key), Create(3.0, pods[1]))
    trace = Trace((make_node("a").build(),), events, namespaces=(Namespace("default"),))
    snapshot = trace.snapshot()
    assert snapshot.pending == tuple(pods)
    assert [node.name for node in snapshot.nodes] == ["a"]
    assert snapshot.namespaces == trace.namespaces
