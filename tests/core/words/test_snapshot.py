"""Snapshots: who waits."""

import pytest

from longshore.core.words.snapshot import Service, Snapshot
from support.builders import make_node, make_pod, make_snapshot


def test_snapshot_pending_are_the_pods_without_a_node_in_their_order() -> None:
    snapshot = make_snapshot(
        make_node("n"), make_pod("c"), make_pod("b").on("n"), make_pod("a"), make_pod("d").on("gone")
    )
    assert [pod.name for pod in snapshot.pending] == ["c", "a"]


def test_snapshot_of_nothing_is_allowed() -> None:
    assert Snapshot().pending == ()


def test_snapshot_is_hashable() -> None:
    services = (Service("default", "web", (("app", "web"),)),)
    one, other = (make_snapshot(make_node("n"), make_pod("p"), services=services) for _ in range(2))
    assert hash(one) == hash(other)


def test_snapshot_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Snapshot().nodes = ()
