"""`longshore bench cluster` and `bench scheduler`: our schedulers beside stock kube-scheduler on one real cluster."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table
from longshore_lab.commands.shown import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longshore_lab.speed.cluster import Cell, Pair, Ranking, SpeedOptions

Nodes = Annotated[str, typer.Option(help="Cluster sizes, with commas between them.")]
Pods = Annotated[int, typer.Option(help="Waiting pods; fewer where the nodes cannot take them.", min=1)]
Repeats = Annotated[int, typer.Option(help="Runs of every mode at every size.", min=1)]
Modes = Annotated[
    str,
    typer.Option(help="Of stock, stock-sampled, plugin, plugin-fallback, standalone, with commas between them."),
]
PolicyOption = Annotated[str, typer.Option(help="Of standalone: a name, or the folder of a bundle.")]
BundleOption = Annotated[
    Path | None,
    typer.Option(
        "--bundle", help="Of plugin: the folder of a bundle; by default DeepSets of width 32 with random weights."
    ),
]


def cluster(
    nodes: Nodes = "1000",
    pods: Pods = 3000,
    repeats: Repeats = 5,
    modes: Modes = "stock,standalone",
    policy: PolicyOption = "kube-default",
    bundle: BundleOption = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Read what ours holds with 5,000 nodes and 50,000 pods, instead.")
    ] = False,
    json_mode: JsonOption = False,
) -> None:
    """Time `longshore schedule` and stock kube-scheduler in turn on one real cluster, pods waiting before each starts.

    Modes: see `longshore bench scheduler`. A decision's time is exact for ours (decision log) and interpolated in the
    buckets of its own histogram for kube-scheduler.
    """
    if memory:
        _measure_memory(json_mode)
    else:
        _measure(_options(nodes, pods, repeats, modes, policy, bundle), json_mode)


def scheduler(
    nodes: Nodes = "1000",
    pods: Pods = 3000,
    repeats: Repeats = 7,
    modes: Modes = "stock,stock-sampled,plugin,plugin-fallback,standalone",
    policy: PolicyOption = "kube-default",
    bundle: BundleOption = None,
    preferred: Annotated[
        bool,
        typer.Option(
            "--preferred",
            help="Give whichever scheduler is measured a core before the cluster's other processes, as a larger CPU "
            "request does (as root).",
        ),
    ] = False,
    json_mode: JsonOption = False,
) -> None:
    """Time kube-scheduler with our plugin, without it, and ours alone in turn on one real cluster.

    `stock` looks at all nodes, `stock-sampled` at some of them, as is its default. `plugin` is kube-scheduler with
    Longshore's scores in place of its own, over all nodes; `plugin-fallback` the same without a bundle, so that
    Longshore runs upstream's scores. `standalone` is `longshore schedule`. It is an error if a pod of `plugin` is
    ranked by upstream's scores, or one of `plugin-fallback` is not.
    """
    options = _options(nodes, pods, repeats, modes, policy, bundle)
    _measure(replace(options, is_preferred=preferred), json_mode)


def _options(nodes: str, pods: int, repeats: int, modes: str, policy: str, bundle: Path | None) -> "SpeedOptions":
    from longshore_lab.speed.cluster import SpeedOptions, sizes

    return SpeedOptions(tuple(sizes(nodes)), pods, repeats, tuple(filter(None, modes.split(","))), policy, bundle)


def _measure(options: "SpeedOptions", json_mode: bool) -> None:
    import os

    from longshore_lab.speed import cluster as cluster_speed

    load = os.getloadavg()[0]
    runs = cluster_speed.measure_all(options, note)
    cells, pairs, rankings = cluster_speed.cells(runs), cluster_speed.pairs(runs), cluster_speed.rankings(runs)
    payload = {
        "cells": [cell._asdict() for cell in cells],
        "pairs": [pair._asdict() for pair in pairs],
        "rankings": [ranking._asdict() for ranking in rankings],
        "runs": [run.summary() for run in runs],
        "load_average": load,
    }
    emit(json_mode, payload, lambda: _render(cells, pairs, rankings))


def _measure_memory(json_mode: bool) -> None:
    import os

    from longshore_lab.speed.cluster import measure_memory

    load = os.getloadavg()[0]
    held = measure_memory(note)
    payload = {"cells": [], "memory": held._asdict(), "load_average": load}
    emit(json_mode, payload, lambda: write_table(held._fields, [tuple(map(figure, held))]))


def _render(cells: "Sequence[Cell]", pairs: "Sequence[Pair]", rankings: "Sequence[Ranking]") -> None:
    write_table(cells[0]._fields, [tuple(map(figure, cell)) for cell in cells])
    if rankings:
        print()
        write_table(rankings[0]._fields, [tuple(map(figure, ranking)) for ranking in rankings])
    for pair in pairs:
        each = " ".join(f"{ratio:.2f}" for ratio in pair.ratios)
        print(
            f"{pair.nodes} nodes: {pair.mode} {pair.ratio:.2f} times {pair.against} (median of {each}; least "
            f"{pair.least:.2f}); {pair.binding_ratio:.2f} times from the first binding to the last"
        )
