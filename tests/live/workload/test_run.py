"""Tests of a workload in a real cluster: what is made, in which order, and that nothing of it is left."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeJoin, Trace
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.recording import PodBound, PodGone
from longshore.live.workload.ground import Wishes
from longshore.live.workload.run import Observed, RunOptions, run_workload
from longshore.workloads.apps import make_app
from longshore.workloads.machines import make_node
from longshore_lab.cluster import LocalCluster
from support.live_run import LiveRun


async def run_in(cluster: LocalCluster, trace: Trace, run: RunOptions, stop: asyncio.Event | None = None) -> Observed:
    async with Client(load_identity(cluster.kubeconfig)) as client:
        return await run_workload(client, trace, run, stop=stop or asyncio.Event())


def test_all_pods_are_created_bound_and_deleted(live_run: LiveRun) -> None:
    happened = live_run.observed.recording.happened
    kinds = [type(one) for one in happened]
    assert kinds.count(Create) == kinds.count(PodBound) == kinds.count(PodGone) == 4
    assert {one.node for one in happened if isinstance(one, PodBound)} <= {"worker-0", "worker-1", "worker-2"}
    assert not live_run.observed.is_interrupted
    assert live_run.observed.remarks == ()


def test_pods_come_when_the_trace_says(live_run: LiveRun) -> None:
    wanted = [event.time for event in live_run.trace.events if isinstance(event, Create)]
    seen = [one.time for one in live_run.observed.recording.happened if isinstance(one, Create)]
    assert len(seen) == len(wanted)
    late_by = [have - want for have, want in zip(seen, wanted, strict=True)]
    assert all(0 <= late < 20 for late in late_by)  # two real seconds: other tests keep the machine busy


def test_latencies_change_on_the_workload_s_own_nodes(live_run: LiveRun) -> None:
    wanted: dict[str, float] = {}
    seen: dict[str, float] = {}
    for event in live_run.trace.events:
        wanted |= dict(event.latency_ms) if isinstance(event, LatencyChange) else {}
    for one in live_run.observed.recording.happened:
        seen |= dict(one.latency_ms) if isinstance(one, LatencyChange) else {}
    assert seen == wanted


def test_progress_is_shown_to_the_end(live_run: LiveRun) -> None:
    last = live_run.shown[-1]
    assert (last.created, last.bound, last.pending) == (4, 4, 0)


def test_nothing_is_left_and_the_cluster_s_own_nodes_are(live_run: LiveRun, local_cluster: LocalCluster) -> None:
    namespaces = local_cluster.kubectl("get", "namespaces", "-o", "name")
    assert live_run.observed.namespace not in namespaces
    nodes = local_cluster.kubectl("get", "nodes", "-o", "name").split()
    assert {f"node/node-{number}" for number in range(5)} <= set(nodes)
    assert "node/worker-0" not in nodes


async def test_readings_are_written_for_the_cluster_s_own_nodes(local_cluster: LocalCluster, tmp_path: Path) -> None:
    app = make_app("quick", cpu_millis=10, memory_mib=1)
    nodes = (
        make_node("a", cpu=1, memory_mib=64, latency_ms=10.0),
        make_node("b", cpu=1, memory_mib=64, latency_ms=20.0),
    )
    events = (Create(0.0, app.pod(0), 0.5), LatencyChange(0.2, (("b", 35.0),)))
    path = tmp_path / "readings.json"
    run = RunOptions(Wishes("readings", 0, "default-scheduler"), 1.0, 1.5, path)
    observed = await run_in(local_cluster, Trace(nodes, events), run)
    written = msgspec.json.decode(path.read_bytes())["nodes"]
    assert {name: entry["latency_ms"] for name, entry in written.items() if name.startswith("node-")} == {
        "node-0": 10.0,
        "node-1": 35.0,
        "node-2": 10.0,
        "node-3": 35.0,
        "node-4": 10.0,
    }
    changes = [one for one in observed.recording.happened if isinstance(one, LatencyChange)]
    assert [set(dict(one.latency_ms).values()) for one in changes] == [{10.0, 20.0}, {35.0}]
    assert [type(one) for one in observed.recording.happened if not isinstance(one, LatencyChange)] == [
        Create,
        PodBound,
        PodGone,
    ]


async def test_a_drained_node_s_pods_start_again_elsewhere(local_cluster: LocalCluster) -> None:
    app = make_app("again", cpu_millis=100, memory_mib=1)
    nodes = tuple(make_node(name, cpu=1, memory_mib=64) for name in ("one", "two"))
    pods = [app.pod(number) for number in range(2)]
    # The last deletion finds its pod under the name that it has by then.
    events = (
        Create(0.0, pods[0]),
        Create(0.0, pods[1]),
        NodeDrain(1.0, "one"),
        NodeJoin(2.0, "one"),
        Delete(3.0, pods[0].key),
        Delete(3.5, pods[1].key),
    )
    trace = Trace(nodes, events, controllers=(app.controller,))
    run = RunOptions(Wishes("drain", 0, "default-scheduler", makes_nodes=True), 1.0, 6.0)
    happened = (await run_in(local_cluster, trace, run)).recording.happened
    places = {one.pod: one.node for one in happened if isinstance(one, PodBound)}
    again = {pod: node for pod, node in places.items() if pod.endswith("-again")}
    lost = [pod for pod, node in places.items() if node == "one" and pod not in again]
    assert sorted(again) == sorted(f"{pod}-again" for pod in lost)
    assert set(again.values()) <= {"two"}
    assert len([one for one in happened if isinstance(one, PodGone)]) == len(places)


async def test_a_run_that_is_stopped_has_a_result_and_leaves_nothing(local_cluster: LocalCluster) -> None:
    app = make_app("long", cpu_millis=10, memory_mib=1)
    trace = Trace((make_node("n", cpu=1, memory_mib=64),), (Create(0.0, app.pod(0)), Delete(500.0, app.pod(0).key)))
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(1.0, stop.set)
    run = RunOptions(Wishes("stopped", 0, "default-scheduler", makes_nodes=True), 1.0, 500.0)
    observed = await run_in(local_cluster, trace, run, stop)
    assert observed.is_interrupted
    assert observed.recording.trace.end == pytest.approx(1.0, abs=0.9)
    assert any(isinstance(one, Create) for one in observed.recording.happened)
    assert observed.namespace not in local_cluster.kubectl("get", "namespaces", "-o", "name")


async def test_nodes_are_made_in_the_lab_only(local_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longshore.live.workload.ground.is_local", lambda _server: False)
    run = RunOptions(Wishes("test1", makes_nodes=True))
    with pytest.raises(InputError, match="no cluster of `longshore cluster up`"):
        await run_in(local_cluster, Trace((), ()), run)
