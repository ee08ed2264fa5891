"""`longshore bench`: the commands behind the figures in the docs."""

from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.groups import add_group
from longshore.cli.names import split_different_names
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.words.errors import InputError
from longshore_lab.commands import bench_cluster, bench_plugin, bench_plugin_faults, bench_proof, bench_proxy_faults
from longshore_lab.commands.shown import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from longshore_lab.speed.training import Race

Workers = Annotated[int, typer.Option(help="Processes; each also runs an oracle of its own.", min=1)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    commands = (
        oracle,
        semantics,
        simulator,
        gymnasium,
        inference,
        training,
        bench_cluster.cluster,
        bench_cluster.scheduler,
        edges,
        writes,
        bench_proof.live_oracle,
        bench_proof.faults,
        bench_plugin.same_nodes,
        bench_plugin.preemption,
        bench_plugin.changing_nodes,
        bench_plugin_faults.plugin_faults,
        bench_proxy_faults.proxy_faults,
    )
    add_group(app, "bench", "Measure, and compare with upstream.", *commands)


def oracle(
    cases: Annotated[int, typer.Option(help="How many random cases.", min=1)] = 2000,
    seed: Annotated[int, typer.Option(help="Which series of cases.", min=0)] = 1,
    workers: Workers = 2,
    json_mode: JsonOption = False,
) -> None:
    """Compare our filters and kube-default with upstream's own code on random cases; exit 1 on any difference."""
    from longshore_lab.commands.shown import counter
    from longshore_lab.oracle.proof import UPSTREAM_VERSION, prove

    with counter("cases", cases) as advance:
        result = prove(cases, seed, workers, advance)
    payload = {
        "upstream": UPSTREAM_VERSION,
        "cases": result.cases,
        "seed": seed,
        "differences": result.differences,
        "first_difference": result.first_difference,
        "cases_per_second": round(result.cases / result.seconds, 1),
    }
    emit(json_mode, payload, lambda: _render_oracle(payload))
    if result.differences:
        raise typer.Exit(1)


def edges(
    nodes: Annotated[int, typer.Option(help="Nodes of the cluster, which is full.", min=10)] = 5000,
    pods: Annotated[int, typer.Option(help="Pods on them.", min=100)] = 100_000,
    objects: Annotated[int, typer.Option(help="ReplicaSets, Services, claims and volumes.", min=100)] = 100_000,
    repeats: Annotated[int, typer.Option(help="Changes and attempts of every kind.", min=10)] = 500,
    json_mode: JsonOption = False,
) -> None:
    """Time what a large, full cluster costs `longshore schedule`; exit 1 if a bar is missed."""
    from longshore_lab.speed.edge_objects import Size
    from longshore_lab.speed.edges import measure

    rows = []
    note(f"{nodes} nodes, {pods} pods, {objects} objects …")
    for row in measure(Size(nodes, pods, objects), repeats):
        note(f"{row.what}: {row.p99_ms:.2f} ms")
        rows.append(row)
    headers = (*rows[0]._fields, "is_met")
    payload = {"costs": [{**row._asdict(), "is_met": row.is_met} for row in rows]}
    emit(json_mode, payload, lambda: write_table(headers, [tuple(map(figure, (*row, row.is_met))) for row in rows]))
    if not all(row.is_met for row in rows):
        raise typer.Exit(1)


def writes(
    nodes: Annotated[int, typer.Option(help="Nodes of the cluster, which will be full.", min=5)] = 100,
    seconds: Annotated[float, typer.Option(help="How long pods come and go once it is full.", min=1)] = 180.0,
    json_mode: JsonOption = False,
) -> None:
    """Count what each scheduler writes to the API server for a pod, stock first; exit 1 above the bar."""
    from longshore_lab.speed.writes import WriteOptions, measure

    rows = measure(WriteOptions(nodes, seconds), note)
    payload = {"writes": [row._asdict() for row in rows]}
    headers = ("mode", "bound", "per_pod", "ratio", "is_met", "most")
    cells = [(*row[:5], ", ".join(f"{number} {what}" for what, number in list(row.what.items())[:5])) for row in rows]
    emit(json_mode, payload, lambda: write_table(headers, [tuple(map(figure, cell)) for cell in cells]))
    if not all(row.is_met for row in rows):
        raise typer.Exit(1)


def _render_oracle(payload: dict[str, object]) -> None:
    from longshore_lab.oracle.proof import Difference

    print(
        f"{payload['cases']} cases of seed {payload['seed']} against Kubernetes {payload['upstream']}: "
        f"{payload['differences']} differences, {payload['cases_per_second']} cases per second"
    )
    first = payload["first_difference"]
    if isinstance(first, Difference):
        print(f"\nfirst difference, case {first.index}: {first.what}\n\n{first.case}")


def semantics(
    nodes: Annotated[list[int] | None, typer.Option(help="Cluster sizes; may be given several times.", min=1)] = None,
    repeats: Annotated[int, typer.Option(help="Decisions per kind of pod.", min=3)] = 50,
    json_mode: JsonOption = False,
) -> None:
    """Time all filters and kube-default for one pod, with upstream's own time for the same pod beside it."""
    from longshore_lab.oracle.semantics import DEFAULT_SIZES, measure

    rows = []
    for size in nodes or DEFAULT_SIZES:
        note(f"{size} nodes …")
        rows += measure(size, repeats)
    headers = ("nodes", "pod", "ours_ms", "ours_p99_ms", "upstream_ms", "ratio")
    payload = {"cells": [dict(zip(headers, row, strict=True)) for row in rows]}
    emit(json_mode, payload, lambda: write_table(headers, [tuple(figure(cell) for cell in row) for row in rows]))


def simulator(
    nodes: Annotated[list[int] | None, typer.Option(help="Cluster sizes; may be given several times.", min=1)] = None,
    envs: Annotated[
        int | None, typer.Option(help="Environments at once; by default what suits the device.", min=1)
    ] = None,
    json_mode: JsonOption = False,
) -> None:
    """Time the simulator with a DeepSets policy in the loop, the plain twin beside it."""
    keep_compiled_programs()
    from longshore_lab.speed.simulator import device_name, measure, sizes_for_device

    sizes = [(size, envs or max(16384 // size, 1)) for size in nodes] if nodes else sizes_for_device()
    cells = []
    for size, number in sizes:
        note(f"{size} nodes, {number} environments …")
        cells.append(measure(size, number))
    headers = cells[0]._fields
    payload = {"device": device_name(), "cells": [cell._asdict() for cell in cells]}
    emit(json_mode, payload, lambda: write_table(headers, [tuple(figure(value) for value in cell) for cell in cells]))


def gymnasium(
    envs: Annotated[list[int] | None, typer.Option(help="Environments; may be given several times.", min=1)] = None,
    episodes: Annotated[int, typer.Option(help="Episodes of each environment.", min=1)] = 100,
    json_mode: JsonOption = False,
) -> None:
    """Time the Gymnasium vector environment over whole episodes; exit 1 if a bar is missed."""
    keep_compiled_programs()
    from longshore_lab.speed.gym import DEFAULT_SIZES, GymCell, measure

    cells = []
    for number in envs or DEFAULT_SIZES:
        note(f"{number} environments …")
        cells.append(measure(number, episodes))
    payload = {"cells": [cell._asdict() for cell in cells]}
    emit(json_mode, payload, lambda: write_table(GymCell._fields, [tuple(map(figure, cell)) for cell in cells]))
    if not all(cell.is_met for cell in cells):
        raise typer.Exit(1)


def inference(
    nodes: Annotated[list[int] | None, typer.Option(help="Cluster sizes; may be given several times.", min=6)] = None,
    repeats: Annotated[int, typer.Option(help="Decisions in a series.", min=3)] = 300,
    series: Annotated[int, typer.Option(help="Series; the one with the lowest median counts.", min=1)] = 10,
    json_mode: JsonOption = False,
) -> None:
    """Time one decision of a DeepSets policy in NumPy, with and without the row cache, and the filters apart."""
    from longshore_lab.speed.inference import DEFAULT_SIZES, WORKLOADS, Cell, blas_name, measure

    cells = []
    for size in nodes or DEFAULT_SIZES:
        note(f"{size} nodes …")
        cells += [measure(size, workload, repeats, series) for workload in WORKLOADS]
    payload = {"blas": blas_name(), "cells": [cell._asdict() for cell in cells]}
    emit(json_mode, payload, lambda: write_table(Cell._fields, [tuple(map(figure, cell)) for cell in cells]))


def training(
    workload: Annotated[
        str | None, typer.Option(help="What is trained on, in place of the four goals that are measured.")
    ] = None,
    objective: Annotated[str, typer.Option(help="With a workload: what is rewarded.")] = "el-rl",
    target: Annotated[float, typer.Option(help="With a workload: return on the selection traces to reach.")] = 117.4,
    nodes: Annotated[int, typer.Option(help="With a workload: its nodes; 0 = its own number.", min=0)] = 0,
    network: Annotated[
        str, typer.Option(help="With a workload: the network of all, `linear`, `mlp` or, without it, `deepsets`.")
    ] = "",
    guide: Annotated[
        str,
        typer.Option(help="With a workload: what imitation is shown; a heuristic, `optimum` or a file of decisions."),
    ] = "",
    trainers: Annotated[str, typer.Option(help="Which of them, such as `ppo,cleanrl-style dqn`; all without it.")] = "",
    seeds: Annotated[int, typer.Option(help="Trainings of each kind; the ratio is that of the medians.", min=1)] = 1,
    first_seed: Annotated[int, typer.Option(help="Seeds count from it.", min=0)] = 0,
    limit_seconds: Annotated[float, typer.Option(help="How long a training may take.", min=1)] = 400.0,
    device: Annotated[
        str | None, typer.Option(help="`cpu` or `gpu`: measure steps per second there instead of the race.")
    ] = None,
    json_mode: JsonOption = False,
) -> None:
    """Time training to a return beside a plain step-by-step loop, compilation included; or steps per second."""
    from longshore_lab.speed import training as training_speed

    if device is not None:
        cells = []
        for cell in training_speed.accelerator_cells(device):
            note(f"{cell.agents} agents with {cell.envs} environments each: {cell.steps_per_second:.0f} steps/s")
            cells.append(cell)
        headers = training_speed.Speed._fields
        payload: dict[str, object] = {"cells": [cell._asdict() for cell in cells]}
        emit(json_mode, payload, lambda: write_table(headers, [tuple(map(figure, cell)) for cell in cells]))
        return
    for name, told in (("guide", guide), ("network", network)):
        if told and workload is None:
            hint = "the goals that are measured have their own"
            raise InputError(f"got a {name} without a workload, expected both", hint)
    given = (
        None
        if workload is None
        else training_speed.Goal(workload, objective, target, nodes, guide=guide, network=network or "deepsets")
    )
    goals = [goal._replace(limit_seconds=limit_seconds) for goal in ([given] if given else training_speed.GOALS)]
    races, compared = [], []
    chosen = split_different_names(trainers)
    for goal in goals:
        found = training_speed.race(goal, range(first_seed, first_seed + seeds), chosen, tell=note)
        races += found
        compared += training_speed.summaries(found)
    payload = {
        "goals": [goal._asdict() for goal in goals],
        "races": [one._asdict() for one in races],
        "compared": compared,
    }
    emit(json_mode, payload, lambda: _render_training(races, compared))


def _render_training(races: "Sequence[Race]", compared: "Sequence[Mapping[str, object]]") -> None:
    write_table(races[0]._fields, [tuple(map(figure, one)) for one in races])
    for one in compared:
        at_most = "at most " if one["is_upper_bound"] else ""
        verdict = "met" if one["is_met"] else "not met"
        print(
            f"{one['workload']}, {one['trainer']}: {one['seconds']:.1f} s, plain loop {one['plain_seconds']:.1f} s, "
            f"ratio {at_most}{one['ratio']:.3f}; bar {one['bar']:.3f}: {verdict}"
        )
