"""`longshore soak`: a scheduler for long in a cluster that is never at rest."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table
from longshore_lab.commands.shown import figure

if TYPE_CHECKING:
    from longshore_lab.soak.run import Soak


class Through(StrEnum):
    """The scheduler that is soaked."""

    SCHEDULE = "schedule"
    PLUGIN = "plugin"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="soak")(soak)


def soak(
    minutes: Annotated[float, typer.Option(help="How long, after the cluster is full.", min=0.5)] = 40.0,
    through: Annotated[
        Through, typer.Option(help="`longshore schedule`, or kube-scheduler with the plugin.")
    ] = Through.SCHEDULE,
    nodes: Annotated[int, typer.Option(help="KWOK nodes.", min=10, max=5000)] = 1000,
    pods: Annotated[int, typer.Option(help="Pods in churn, 20 or fewer for each node.", min=100)] = 20_000,
    fault_seconds: Annotated[float, typer.Option(help="Seconds between two faults.", min=10)] = 180.0,
    seed: Annotated[int, typer.Option(help="Of what comes and goes.", min=0)] = 0,
    json_mode: JsonOption = False,
) -> None:
    """Run a scheduler in a full cluster whose pods and nodes come and go, with a fault every few minutes.

    Exit 1 if its memory or files grow, its decisions slow down, its log is unbounded, or a pod is placed wrongly.
    """
    from longshore.core.words.errors import InputError
    from longshore_lab.soak.run import SoakOptions
    from longshore_lab.soak.run import soak as run_soak

    if pods > 20 * nodes:
        raise InputError(f"got --pods {pods} for {nodes} nodes, expected at most {20 * nodes}", "more do not fit")
    found = run_soak(SoakOptions(through.value, minutes, nodes, pods, fault_seconds, seed), note)
    payload = {
        "through": through.value,
        "minutes": minutes,
        "nodes": nodes,
        "pods": pods,
        "filled_after_seconds": found.filled_at,
        "pods_bound": found.num_bound,
        "faults": found.faults,
        "rows": [row._asdict() for row in found.rows],
        "checker": found.report,
        "samples": [
            {
                "seconds": each.seconds,
                "memory_bytes": each.memory_bytes,
                "files": each.num_files,
                "pods_waiting": each.num_pending,
            }
            for each in found.samples
        ],
    }
    emit(json_mode, payload, lambda: _render(found))
    if not found.is_well:
        raise typer.Exit(1)


def _render(found: "Soak") -> None:
    verdict = "well" if found.is_well else "NOT WELL"
    print(f"{verdict}: {found.num_bound} pods bound, {len(found.faults)} faults\n")
    headers = ("what", "figure", "at most", "", "")
    rows = [
        (row.what, figure(row.figure), figure(row.bar), "met" if row.is_met else "MISSED", row.note)
        for row in found.rows
    ]
    write_table(headers, rows)
    for each in found.report.shown[:5] if found.report else ():
        print(each)
