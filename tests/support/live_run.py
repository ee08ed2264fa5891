"""One live run of a small workload, shared by the tests that look at what came of it: it takes some seconds."""

import asyncio
from dataclasses import dataclass

import pytest

from longshore.core.words.trace import Trace
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.record import record
from longshore.live.recording import Recording, Scope
from longshore.live.workload.ground import Wishes
from longshore.live.workload.run import Observed, Progress, RunOptions, run_workload
from longshore.workloads.build import build_workload
from longshore_lab.cluster import LocalCluster


@dataclass(frozen=True)
class LiveRun:
    """A run of test1 under stock kube-scheduler, watched from the side by a recording."""

    trace: Trace
    run: RunOptions
    observed: Observed
    recorded: Recording
    shown: list[Progress]


@pytest.fixture(scope="session")
def live_run(local_cluster: LocalCluster) -> LiveRun:
    """Give test1 with 4 pods, run and recorded at the same time."""
    trace = build_workload("test1", {"pods": 4, "cycles": 1}).trace(0)
    assert trace.end is not None
    run = RunOptions(Wishes("test1", 0, "default-scheduler", makes_nodes=True), 10.0, trace.end)
    shown: list[Progress] = []
    space = f"longshore-workload-{run.wishes.name}-0"

    async def work() -> tuple[Observed, Recording]:
        async with Client(load_identity(local_cluster.kubeconfig)) as client:
            stop = asyncio.Event()
            watching = asyncio.create_task(record(client, Scope(frozenset({space})), stop))
            await asyncio.sleep(0.5)
            observed = await run_workload(client, trace, run, stop=asyncio.Event(), show=shown.append)
            stop.set()
            return observed, await watching

    observed, recorded = asyncio.run(work())
    return LiveRun(trace, run, observed, recorded, shown)
