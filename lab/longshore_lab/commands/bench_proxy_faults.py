"""`longshore bench proxy-faults`: what networks and busy API servers do to a scheduler, with pods in flight."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore_lab.proof.proxy_faults import ProxyFaultResult


class Through(StrEnum):
    """The scheduler behind the proxy."""

    SCHEDULE = "schedule"
    PLUGIN = "plugin"
    STOCK = "stock"


def proxy_faults(
    through: Annotated[
        Through,
        typer.Option(help="`longshore schedule`, kube-scheduler with the plugin, or stock kube-scheduler as control."),
    ] = Through.SCHEDULE,
    pods: Annotated[int, typer.Option(help="Pods in flight at every fault.", min=60, max=3000)] = 1000,
    only: Annotated[str, typer.Option(help="Only faults whose name has this in it.")] = "",
    json_mode: JsonOption = False,
) -> None:
    """Disturb the requests of a scheduler, then stop; exit 1 if a pod is lost, misplaced, or bound late afterwards."""
    import asyncio

    from longshore.core.words.errors import InputError
    from longshore_lab.proof.proxy_fault_list import FAULTS
    from longshore_lab.proof.proxy_faults import MAX_RECOVERY_SECONDS, proxy_fault_cluster, run_proxy_fault

    names = [name for name in FAULTS if only in name]
    if not names:
        raise InputError(f"no fault has `{only}` in its name", f"there are: {'; '.join(FAULTS)}")
    results = []
    note("starting a cluster of its own …")
    with proxy_fault_cluster(pods) as cluster:
        for name in names:
            result = asyncio.run(run_proxy_fault(cluster, through.value, name, pods))
            note(f"{name}: {result.verdict}, recovered after {result.recovery_seconds:.1f} s")
            results.append(result)
    payload = {
        "through": through.value,
        "pods": pods,
        "max_recovery_seconds": MAX_RECOVERY_SECONDS,
        "faults": [{**vars(each), "is_well": each.is_well} for each in results],
    }
    emit(json_mode, payload, lambda: _render(results))
    if not all(result.is_well for result in results):
        raise typer.Exit(1)


def _render(results: "list[ProxyFaultResult]") -> None:
    headers = (
        "fault", "waiting", "bound", "twice", "wrong", "excused", "disturbed", "bound meanwhile", "recovered after s",
        "restarts", "most bindings", "",
    )  # fmt: skip
    rows = [
        (
            result.fault,
            str(result.waiting),
            str(result.bound),
            str(result.bound_twice),
            str(len(result.misplaced)),
            str(result.excused),
            str(result.disturbed),
            str(result.bound_meanwhile),
            f"{result.recovery_seconds:.1f}",
            f"{result.restarts}{' (by hand)' if result.is_by_hand else ''}",
            str(result.most_bindings),
            result.verdict,
        )
        for result in results
    ]
    write_table(headers, rows)
    for result in results:
        for each in result.misplaced[:3]:
            print(f"{result.fault}: {each}")
