"""Tests of the demo's parts: longshore's own scheduler as a part of a cluster, beside stock kube-scheduler."""

import asyncio
import time

import pytest

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.recording import PodBound
from longshore.live.workload.ground import Wishes
from longshore.live.workload.run import RunOptions, run_workload
from longshore.workloads.build import build_workload
from longshore_lab.cluster import LocalCluster
from longshore_lab.live_demo import OWN, PART, Demo, scheduling


def test_both_schedulers_get_the_same_run() -> None:
    demo = Demo(seed=2, speed=5.0)
    stock, own = demo.run("default-scheduler"), demo.run(OWN)
    assert (stock.speed, stock.end) == (own.speed, own.end) == (5.0, demo.trace.end)
    assert stock.wishes.makes_nodes
    assert own.wishes.scheduler_name == "longshore"


async def test_longshore_places_a_workload_s_pods_within_their_limits(local_cluster: LocalCluster) -> None:
    trace = build_workload("test1", {"pods": 3, "cycles": 1}).trace(1)
    run = RunOptions(Wishes("demo", 1, OWN, makes_nodes=True), 10.0, trace.end or 0.0)
    with scheduling(local_cluster, "lowest-latency"):
        assert [part.state for part in local_cluster.status() if part.name == PART] == ["running"]
        async with Client(load_identity(local_cluster.kubeconfig)) as client:
            observed = await run_workload(client, trace, run, stop=asyncio.Event())
    fastest = min(trace.nodes, key=lambda node: node.readings.latency_ms or 0.0).name
    places = [one.node for one in observed.recording.happened if isinstance(one, PodBound)]
    assert len(places) == 3
    assert places[0] == fastest
    assert [part.state for part in local_cluster.status() if part.name == PART] == ["stopped"]


def test_a_policy_that_cannot_serve_is_said_at_once(local_cluster: LocalCluster) -> None:
    started = time.monotonic()
    with pytest.raises(LongshoreError, match="no-such-policy"), scheduling(local_cluster, "no-such-policy"):
        pass
    assert time.monotonic() - started < 30
