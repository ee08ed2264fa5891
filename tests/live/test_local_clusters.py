"""Local clusters are found by what other packages say, and none is made up."""

from importlib import metadata

import pytest

from longshore.live import local_clusters
from longshore.live.local_clusters import is_local
from longshore_lab.cluster import LocalCluster


def test_a_cluster_of_the_lab_is_local(local_cluster: LocalCluster) -> None:
    assert is_local(local_cluster.server)


def test_another_server_is_not() -> None:
    assert not is_local("https://203.0.113.1:6443")


def test_without_the_lab_no_cluster_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_clusters, "ENTRY_POINT_GROUP", "longshore.nobody")
    assert metadata.entry_points(group="longshore.nobody") == ()
    assert not is_local("https://127.0.0.1:6443")
