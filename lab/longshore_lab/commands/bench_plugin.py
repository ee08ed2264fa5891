"""`longshore bench same-nodes`, `preemption` and `changing-nodes`: what the kube-scheduler plugin does, proved."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore_lab.proof.same_nodes import BundleResult

Seed = Annotated[int, typer.Option(help="Which series of random cases.", min=0)]
Bundles = Annotated[list[Path] | None, typer.Option(help="Folder of a bundle; may be given several times.")]


def same_nodes(
    policy: Bundles = None,
    rounds: Annotated[int, typer.Option(help="Random clusters for every bundle.", min=1)] = 10,
    pods: Annotated[int, typer.Option(help="Pods placed one after the other on each.", min=1)] = 15,
    seed: Seed = 1,
    json_mode: JsonOption = False,
) -> None:
    """Place the same pods by the plugin and by `longshore schedule`; exit 1 if one goes to different nodes.

    By default with all bundles of this repository that serve any number of nodes.
    """
    import asyncio

    from longshore_lab.commands.shown import counter
    from longshore_lab.proof.live_oracle import cluster_without_controllers
    from longshore_lab.proof.same_nodes import prove_same_nodes, repository_bundles

    bundles = {folder.name: folder for folder in policy} if policy else repository_bundles()
    note("starting a control plane of its own …")
    total = len(bundles) * rounds * pods
    with cluster_without_controllers(has_stock=False) as cluster, counter("pods", total) as advance:
        results = asyncio.run(prove_same_nodes(cluster, bundles, rounds, pods, seed, advance))
    payload = {"seed": seed, "bundles": [vars(result) for result in results]}
    emit(json_mode, payload, lambda: _render_same_nodes(results))
    if not all(result.is_well for result in results):
        raise typer.Exit(1)


def _render_same_nodes(results: "list[BundleResult]") -> None:
    headers = ("bundle", "clusters", "pods", "placed", "with GPUs", "pending", "near ties", "fallbacks", "differences")
    rows = [
        (
            each.bundle,
            *map(str, (each.rounds, each.pods, each.placed, each.with_devices, each.pending, each.near_ties)),
            str(each.fallbacks),
            str(len(each.differences)),
        )
        for each in results
    ]
    write_table(headers, rows)
    for each in results:
        for one in each.differences[:3]:
            print(f"{each.bundle}, cluster {one.round}, {one.pod}: {one.what}")


def preemption(
    policy: Annotated[Path, typer.Option(help="Folder of the plugin's bundle.")],
    cases: Annotated[int, typer.Option(help="Random clusters of full nodes.", min=1)] = 100,
    seed: Seed = 1,
    json_mode: JsonOption = False,
) -> None:
    """Give pods of random priorities on full nodes to the plugin; exit 1 if a pod went that should have stayed."""
    import asyncio

    from longshore_lab.commands.shown import counter
    from longshore_lab.proof.live_oracle import cluster_without_controllers
    from longshore_lab.proof.plugin_preemption import prove_preemption

    note("starting a control plane of its own …")
    with cluster_without_controllers(has_stock=False) as cluster, counter("cases", cases) as advance:
        result = asyncio.run(prove_preemption(cluster, policy, cases, seed, advance))

    def render() -> None:
        for each in result.violations[:3]:
            print(each)
        print(
            f"{result.cases} cases in {result.seconds:.0f} s: {result.fitted} had room, {result.preempted} preempted, "
            f"{result.pending} stayed pending; {len(result.violations)} violations"
        )

    emit(json_mode, {"seed": seed, **vars(result)}, render)
    if result.violations:
        raise typer.Exit(1)


def changing_nodes(
    policy: Annotated[Path, typer.Option(help="Folder of the plugin's bundle.")],
    nodes: Annotated[int, typer.Option(help="KWOK nodes.", min=4)] = 1000,
    real_nodes: Annotated[int, typer.Option(help="Real nodes beside them, with containers that run.", min=0)] = 0,
    pods: Annotated[int, typer.Option(help="Pods in flight.", min=10)] = 2000,
    seed: Seed = 0,
    changes: Annotated[bool, typer.Option(help="Let nodes join, go, be relabelled and cordoned meanwhile.")] = True,
    json_mode: JsonOption = False,
) -> None:
    """Place pods by the plugin while nodes change; exit 1 if one is not bound, is wrong, or was not ranked by it."""
    import asyncio
    import os

    from longshore_lab.cluster import ClusterOptions, temporary
    from longshore_lab.proof.changing_nodes import prove_changing_nodes

    options = ClusterOptions(
        name=f"changing-{os.getpid()}",
        nodes=nodes,
        real_nodes=real_nodes,
        node_cpu="16",
        node_memory="64Gi",
        has_scheduler=False,
    )
    with temporary(options, note) as cluster:
        result = asyncio.run(prove_changing_nodes(cluster, policy, pods, seed, changes=changes))

    def render() -> None:
        for each in result.wrong[:3]:
            print(each)
        changed = ", ".join(f"{count} {kind}" for kind, count in sorted(result.changes.items())) or "no changes"
        print(
            f"{result.bound} of {result.pods} pods bound on {result.nodes} nodes in {result.seconds:.0f} s, {changed}: "
            f"{len(result.wrong)} wrong, {result.bound_twice} bound twice, {result.ranked} ranked by the plugin, "
            f"{sum(result.fallbacks.values())} by upstream's scores; {result.during_changes} bound at a change"
        )
        if result.on_real_nodes:
            print(f"on real nodes: {result.on_real_nodes}, {result.running_on_real_nodes} of them run")

    emit(json_mode, {"seed": seed, **vars(result), "is_well": result.is_well}, render)
    if not result.is_well:
        raise typer.Exit(1)
