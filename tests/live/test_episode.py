"""Tests of an episode's order: departures, deferred pods and arrivals as in the simulator, done for real."""

from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.episode import LiveEpisode
from longshore.live.session import LiveSession
from longshore.live.workload.objects import LAB_IMAGE, Ground
from longshore.workloads.apps import make_app
from longshore_lab.cluster import LocalCluster


async def play(
    cluster: LocalCluster, namespace: str, events: tuple[Event, ...], node_of: dict[int, str | None]
) -> list[tuple[int, float, int | None]]:
    """Place pods by their numbers (None = defer the first time); return number, time and following of each turn."""
    left, found = dict(node_of), []
    async with Client(load_identity(cluster.kubeconfig)) as client:
        session = LiveSession(client, "episode-test")
        ground = Ground(namespace, "episode-test", LAB_IMAGE)
        try:
            await session.start()
            episode = LiveEpisode(session, Trace((), events), ground, lambda _: False, 1.0)
            async for turn in episode.turns():
                behind = None if turn.following is None else turn.following.name
                found.append((turn.number, turn.time, behind))
                node = left.get(turn.number, "node-0")
                left.pop(turn.number, None)
                if node is not None:
                    await session.bind(turn.pod, node, None)
                episode.settled(turn, is_placed=node is not None)
        finally:
            await session.stop()
    return found


async def test_a_deferred_pod_is_tried_again_when_room_came_free(
    local_cluster: LocalCluster, cluster_namespace: str
) -> None:
    app = make_app("web", cpu_millis=10, memory_mib=1)
    events = (
        Create(0.0, app.pod(0), 5.0),
        Create(1.0, app.pod(1)),
        Delete(9.0, app.pod(1).key),
    )
    turns = await play(local_cluster, cluster_namespace, events, {1: None})
    assert [(number, time) for number, time, _ in turns] == [(0, 0.0), (1, 1.0), (1, 5.0)]


async def test_pods_of_one_moment_know_who_follows(local_cluster: LocalCluster, cluster_namespace: str) -> None:
    app = make_app("web", cpu_millis=10, memory_mib=1)
    events = tuple(Create(2.0, app.pod(number), 1.0) for number in range(2))
    turns = await play(local_cluster, cluster_namespace, events, {})
    assert turns == [(0, 2.0, app.pod(1).name), (1, 2.0, None)]


async def test_a_waiting_pod_that_is_deleted_is_not_asked_about_again(
    local_cluster: LocalCluster, cluster_namespace: str
) -> None:
    app = make_app("web", cpu_millis=10, memory_mib=1)
    events = (Create(0.0, app.pod(0)), Delete(1.0, app.pod(0).key), Create(2.0, app.pod(1), 1.0))
    turns = await play(local_cluster, cluster_namespace, events, {0: None})
    assert [(number, time) for number, time, _ in turns] == [(0, 0.0), (1, 2.0)]
