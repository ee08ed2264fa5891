"""Tests of a workload's own place: names that collide with nothing, and a set-up that fails whole."""

import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.snapshot import Service
from longshore.core.words.trace import Trace
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError
from longshore.live.workload.ground import Wishes, _names_for, clear, settle
from longshore.live.workload.plan import WorkloadPlan
from longshore_lab.cluster import LocalCluster

NOTHING = Trace((), ())


def test_nodes_keep_their_names_where_these_are_free() -> None:
    assert _names_for(["a", "b"], ["c"]) == {"a": "a", "b": "b"}


def test_all_nodes_are_renamed_where_one_name_is_taken() -> None:
    assert _names_for(["a", "b"], ["b"]) == {"a": "workload-a", "b": "workload-b"}
    assert _names_for(["a"], ["a", "workload-a"]) == {"a": "workload-1-a"}


async def test_a_taken_namespace_is_left_alone(local_cluster: LocalCluster) -> None:
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        first = await settle(client, NOTHING, WorkloadPlan(()), Wishes("Some Trace!", 3))
        second = await settle(client, NOTHING, WorkloadPlan(()), Wishes("Some Trace!", 3))
        await clear(client, second, NOTHING)
        spaces = local_cluster.kubectl("get", "namespaces", "-o", "name").split()
        await clear(client, first, NOTHING)
    assert first.namespace == "longshore-workload-some-trace-3"
    assert second.namespace == "longshore-workload-some-trace-3-2"
    assert f"namespace/{first.namespace}" in spaces
    assert f"namespace/{second.namespace}" not in spaces


async def test_a_set_up_that_is_refused_leaves_nothing(local_cluster: LocalCluster) -> None:
    plan = WorkloadPlan((), services=(Service("default", "not a name", (("app", "web"),)),))
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        with pytest.raises(ApiError, match="not a name"):
            await settle(client, NOTHING, plan, Wishes("refused"))
    assert "longshore-workload-refused" not in local_cluster.kubectl("get", "namespaces", "-o", "name")


async def test_a_cluster_without_nodes_is_refused(local_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(_client: Client) -> list[str]:
        return []

    monkeypatch.setattr("longshore.live.workload.ground.node_names", nobody)
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        with pytest.raises(InputError, match="has no nodes"):
            await settle(client, NOTHING, WorkloadPlan(()), Wishes("nobody"))
