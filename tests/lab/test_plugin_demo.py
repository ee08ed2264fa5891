"""The demo's kube-scheduler with our plugin on a real control plane: bundle destroyed, process killed, pods placed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.recording import PodBound
from longshore.live.workload.ground import Wishes
from longshore.live.workload.run import RunOptions, run_workload
from longshore.policies.bundle_folder import write_folder
from longshore.workloads.build import build_workload
from longshore_lab import build
from longshore_lab.live_demo import OWN
from longshore_lab.plugin_demo import Accidents, ranked, ranking
from longshore_lab.plugin_process import PROGRAM
from longshore_lab.proof.plugin_bundles import packing_bundle
from support.local_cluster import running_cluster


def test_pods_are_placed_before_and_after_the_bundle_and_the_process_are_lost(
    built_programs: None, require_component: Callable[[str, str, bool], None], tmp_path: Path
) -> None:
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())
    trace = build_workload("test1", {"pods": 4, "cycles": 2}).trace(0)
    run = RunOptions(Wishes("demo", 0, OWN, makes_nodes=True), 10.0, trace.end or 0.0)
    bundle = tmp_path / "bundle"
    write_folder(bundle, packing_bundle())
    told: list[str] = []
    with running_cluster(nodes=0, has_scheduler=False) as cluster:

        async def play(accidents: Accidents) -> int:
            async with Client(load_identity(cluster.kubeconfig)) as client:
                observed = await run_workload(client, trace, run, stop=asyncio.Event(), show=accidents.watch)
            return sum(isinstance(one, PodBound) for one in observed.recording.happened)

        with ranking(cluster, bundle) as process:
            with Accidents(process, bundle, told.append) as accidents:
                num_bound = asyncio.run(play(accidents))
            before, after = accidents.before_the_kill, ranked(process)
    assert num_bound == 8
    assert [line.split()[0] for line in told] == ["half-way:", "kube-scheduler"]
    assert before is not None
    assert before.pods > 0
    assert before.by_fallback == 0, "the policy in memory goes on when its files are gone"
    assert after.by_fallback == after.pods, "a process that never had a bundle ranks by upstream's scores"
    assert all(file.stat().st_size <= 100 for file in bundle.iterdir())
