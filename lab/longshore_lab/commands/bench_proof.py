"""`longshore bench live-oracle` and `bench faults`: the proofs against a real control plane, each in one command."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore_lab.proof.faults import FaultResult
    from longshore_lab.proof.live_oracle import LiveResult


class Through(StrEnum):
    """The scheduler beside stock."""

    SCHEDULE = "schedule"
    PLUGIN = "plugin"


def live_oracle(
    cases: Annotated[
        int, typer.Option(help="How many cases; those that no API server takes do not count.", min=1)
    ] = 200,
    seed: Annotated[int, typer.Option(help="Which series of cases.", min=0)] = 1,
    through: Annotated[
        Through,
        typer.Option(help="Beside stock: `longshore schedule` with kube-default, or kube-scheduler with the plugin."),
    ] = Through.SCHEDULE,
    json_mode: JsonOption = False,
) -> None:
    """Give random cases on a real API server to stock kube-scheduler and to ours; exit 1 on any difference.

    Through the plugin, with a bundle of random weights, any node that is feasible for stock is right.
    """
    import asyncio

    from longshore_lab.commands.shown import counter
    from longshore_lab.oracle.proof import UPSTREAM_VERSION
    from longshore_lab.proof.live_oracle import cluster_without_controllers, prove_live

    note("starting a control plane of its own …")
    with cluster_without_controllers() as cluster, counter("cases", cases) as advance:
        is_through_plugin = through is Through.PLUGIN
        result = asyncio.run(prove_live(cluster, cases, seed, advance, is_through_plugin=is_through_plugin))
    payload = {
        "upstream": UPSTREAM_VERSION,
        "through": through.value,
        "seed": seed,
        "cases": result.cases,
        "feasible": result.num_feasible,
        "ties": result.num_ties,
        "pending": result.num_pending,
        "left_out": result.left_out,
        "late": result.num_late,
        "fallbacks": result.num_fallbacks,
        "differences": len(result.differences),
        "first_difference": result.differences[0] if result.differences else None,
        "seconds": round(result.seconds, 1),
    }
    emit(json_mode, payload, lambda: _render_live_oracle(result))
    if result.differences or result.num_fallbacks:
        raise typer.Exit(1)


def _render_live_oracle(result: "LiveResult") -> None:
    for each in result.differences[:3]:
        print(f"{each.what}\n{each.case}\n")
    left_out = "; ".join(f"{count} more: {reason}" for reason, count in result.left_out.items())
    print(
        f"{result.cases} cases in {result.seconds:.0f} s: {result.num_feasible} placed ({result.num_ties} with several "
        f"best nodes), {result.num_pending} without a node; {len(result.differences)} differences"
    )
    if left_out:
        print(f"left out: {left_out}")
    if result.num_late:
        print(f"agreed only when the watches had longer to come in step: {result.num_late}")
    if result.num_fallbacks:
        print(f"ranked by upstream's scores instead of the bundle: {result.num_fallbacks}")


def faults(
    pods: Annotated[int, typer.Option(help="Pods in flight at every fault.", min=10, max=350)] = 250,
    only: Annotated[str, typer.Option(help="Only faults whose name has this in it.")] = "",
    leader_elect: Annotated[bool, typer.Option(help="Use a lease also where the fault is not about it.")] = False,
    json_mode: JsonOption = False,
) -> None:
    """Kill, stop and restart parts of a real cluster with pods in flight; exit 1 if one is lost, stuck or misplaced."""
    import asyncio

    from longshore.core.words.errors import InputError
    from longshore_lab.proof.faults import FAULTS, MAX_RECOVERY_SECONDS, fault_cluster, run_fault

    names = [name for name in FAULTS if only in name]
    if not names:
        raise InputError(f"no fault has `{only}` in its name", f"there are: {'; '.join(FAULTS)}")
    results = []
    note("starting a cluster of its own …")
    with fault_cluster() as cluster:
        for name in names:
            note(f"{name} …")
            results.append(asyncio.run(run_fault(cluster, name, pods, elects_leader=leader_elect)))
    payload = {
        "pods": pods,
        "max_recovery_seconds": MAX_RECOVERY_SECONDS,
        "faults": [{**vars(result), "is_well": result.is_well} for result in results],
    }
    emit(json_mode, payload, lambda: _render_faults(results))
    if not all(result.is_well for result in results):
        raise typer.Exit(1)


def _render_faults(results: "list[FaultResult]") -> None:
    headers = ("fault", "in flight", "bound", "twice", "wrong", "excused", "away s", "recovered after s", "")
    rows = [
        (
            result.fault,
            f"{result.waiting} of {result.pods}",
            str(result.bound),
            str(result.bound_twice),
            str(len(result.misplaced)),
            str(result.excused),
            f"{result.outage_seconds:.1f}",
            f"{result.recovery_seconds:.1f}",
            "well" if result.is_well else "NOT WELL",
        )
        for result in results
    ]
    write_table(headers, rows)
    for result in results:
        for each in result.misplaced[:3]:
            print(f"{result.fault}: {each}")
