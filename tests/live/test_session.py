"""Tests of a session with a live cluster: what waits, in which order, and what a binding shows."""

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.session import LiveSession
from longshore_lab.cluster import LocalCluster


def run_pod(cluster: LocalCluster, namespace: str, name: str, spec: str) -> None:
    cluster.kubectl("run", name, "-n", namespace, "--image=none", f'--overrides={{"spec":{spec}}}')


async def test_a_bound_pod_is_on_the_arrays_when_bind_returns(
    local_cluster: LocalCluster, cluster_namespace: str
) -> None:
    container = '{"name":"web","image":"none","resources":{"requests":{"cpu":"2"}}}'
    spec = f'{{"schedulerName":"session-test","containers":[{container}]}}'
    run_pod(local_cluster, cluster_namespace, "web", spec)
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        session = LiveSession(client, "session-test")
        try:
            await session.start()
            (change,) = session.waiting()
            assert change.pod is not None
            before = session.live.encoded().arrays.state.requested.copy()
            await session.bind(change.pod, "node-2", None)
            encoded = session.live.encoded()
        finally:
            await session.stop()
    added = encoded.arrays.state.requested - before
    assert added[encoded.node_index["node-2"]][0] == 2000
    assert added.sum(axis=1).astype(bool).sum() == 1
    assert session.waiting() == []


async def test_gated_pods_and_those_of_other_schedulers_do_not_wait_for_us(
    local_cluster: LocalCluster, cluster_namespace: str
) -> None:
    run_pod(local_cluster, cluster_namespace, "ours", '{"schedulerName":"gate-test"}')
    run_pod(local_cluster, cluster_namespace, "gated", '{"schedulerName":"gate-test","schedulingGates":[{"name":"g"}]}')
    run_pod(local_cluster, cluster_namespace, "theirs", '{"schedulerName":"somebody-else"}')
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        session = LiveSession(client, "gate-test")
        try:
            await session.start()
            waiting = session.waiting()
        finally:
            await session.stop()
    assert [change.name for change in waiting] == ["ours"]


async def test_only_the_nodes_asked_for_are_looked_at(local_cluster: LocalCluster) -> None:
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        session = LiveSession(client, "any", frozenset({"node-1", "node-3"}))
        try:
            await session.start()
            assert session.live.encoded().node_names == ("node-1", "node-3")
        finally:
            await session.stop()


async def test_what_does_not_come_in_time_is_said(local_cluster: LocalCluster) -> None:
    async with Client(load_identity(local_cluster.kubeconfig)) as client:
        session = LiveSession(client, "any")
        try:
            await session.start()
            assert not await session.happens(lambda: False, 0.2)
        finally:
            await session.stop()
