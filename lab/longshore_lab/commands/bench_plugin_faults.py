"""`longshore bench plugin-faults`: what goes wrong around the kube-scheduler plugin, with pods in flight."""

from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore_lab.proof.plugin_faults import PluginFaultResult


def plugin_faults(
    pods: Annotated[int, typer.Option(help="Pods in flight at every fault.", min=30, max=3000)] = 1000,
    only: Annotated[str, typer.Option(help="Only faults whose name has this in it.")] = "",
    json_mode: JsonOption = False,
) -> None:
    """Spoil what the kube-scheduler plugin reads and writes; exit 1 if a pod is lost or the plugin does not say why."""
    import asyncio

    from longshore.core.words.errors import InputError
    from longshore_lab.build import require_program
    from longshore_lab.plugin_process import PROGRAM
    from longshore_lab.proof.plugin_fault_list import FAULTS
    from longshore_lab.proof.plugin_faults import MAX_FAILED_SECONDS, plugin_fault_cluster, run_plugin_fault

    names = [name for name in FAULTS if only in name]
    if not names:
        raise InputError(f"no fault has `{only}` in its name", f"there are: {'; '.join(FAULTS)}")
    require_program(PROGRAM)
    results = []
    note("starting a cluster of its own …")
    with plugin_fault_cluster() as cluster:
        for name in names:
            note(f"{name} …")
            results.append(asyncio.run(run_plugin_fault(cluster, name, FAULTS[name], pods)))
    payload = {
        "pods": pods,
        "max_failed_seconds": MAX_FAILED_SECONDS,
        "faults": [{**vars(each), "failures": each.failures, "is_well": each.is_well} for each in results],
    }
    emit(json_mode, payload, lambda: _render(results))
    if not all(result.is_well for result in results):
        raise typer.Exit(1)


def _render(results: "list[PluginFaultResult]") -> None:
    headers = (
        "fault", "waiting", "bound", "twice", "wrong", "excused", "fell back", "failed", "failed s", "s", "last s", "",
    )  # fmt: skip
    rows = [
        (
            result.fault,
            str(result.waiting),
            str(result.bound),
            str(result.bound_twice),
            str(len(result.misplaced)),
            str(result.excused),
            ", ".join(f"{count} {reason}" for reason, count in sorted(result.fallbacks.items())) or "-",
            str(result.failures),
            f"{result.failed_seconds:.3f}",
            f"{result.seconds:.1f}",
            f"{result.last_third_seconds:.1f}",
            "well" if result.is_well else "NOT WELL",
        )
        for result in results
    ]
    write_table(headers, rows)
    for result in results:
        if result.note:
            print(f"{result.fault}: {result.note[:200]}")
        for each in [*result.misplaced[:3], *result.missing]:
            print(f"{result.fault}: {each}")
        if not result.is_same_process:
            print(f"{result.fault}: the process has ended")
