"""`longshore import`: check cluster dumps and show, or save, what scheduling would read of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.cli.files import check_writable, read_bytes, write_bytes
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.cli.rates import PowerModelsOption, PricesOption, read_rates
from longshore.core.words.errors import InputError

if TYPE_CHECKING:
    from longshore.kube.dump import Import


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="import")(import_dump)


def import_dump(
    dumps: Annotated[list[str], typer.Argument(help="Dumps made by `kubectl get … -A -o json`; `-` = standard input.")],
    out: Annotated[Path | None, typer.Option(help="Write the objects that scheduling reads as one dump.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write a trace that the simulator plays (JSON Lines).")] = None,
    prices: PricesOption = None,
    power_models: PowerModelsOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Read cluster dumps, whole or not at all; a bad object is refused with its name and reason."""
    from longshore.kube.dump import read_objects, split_dump, write_dump
    from longshore.kube.dump_trace import left_out, trace_from_dump
    from longshore.kube.trace_file import write_trace

    for target, option in ((out, "--out"), (trace, "--trace")):
        check_writable(target, option)
    rates = read_rates(prices, power_models)
    items = [item for path in dumps for item in split_dump(read_bytes(path), path)]
    found = read_objects(items)
    found = found._replace(snapshot=replace(found.snapshot, nodes=rates.of_all(found.snapshot.nodes)))
    for remark in found.notes:
        note(remark)
    report = _report(found)
    played = None if trace is None else trace_from_dump(found, report["unsupported"])
    if played is not None and not (played.nodes and played.events):
        raise InputError(
            f"the dump has {len(played.nodes)} nodes and {len(played.events)} pods for a trace, expected some of both",
            "make the dump with the right to read nodes, and the pods of all namespaces",
        )
    if out is not None:
        write_bytes(out, write_dump(items), "--out")
        note(f"wrote {out}")
    if trace is not None and played is not None:
        write_bytes(trace, b"".join(write_trace(played)), "--trace")
        report["left_out"] = left_out(found.snapshot, report["unsupported"])
        without = [f"{pod} ({reason})" for pod, reason in report["left_out"].items()]
        note(f"wrote {trace}" + (f", without {', '.join(without)}" if without else ""))
    emit(json_mode, report, lambda: _render(report))


def _report(found: "Import") -> dict[str, Any]:
    from longshore.core.words.objects import Objects
    from longshore.filters.unsupported import find_unsupported

    snapshot = found.snapshot
    objects = Objects.of(snapshot)
    unsupported = {pod.key: [need._asdict() for need in find_unsupported(pod, objects)] for pod in snapshot.pending}
    return {
        "nodes": len(snapshot.nodes),
        "pods": {"bound": len(snapshot.pods) - len(snapshot.pending), "pending": len(snapshot.pending)},
        "classes": len({pod.spec for pod in snapshot.pods}),
        "namespaces": len(snapshot.namespaces),
        "services": len(snapshot.services),
        "controllers": dict(Counter(controller.kind for controller in snapshot.controllers)),
        "claims": len(snapshot.claims),
        "unsupported": {pod: needs for pod, needs in unsupported.items() if needs},
        "skipped": found.skipped,
    }


def _render(report: dict[str, object]) -> None:
    write_table(("what", "count"), [(name, _text(value)) for name, value in report.items()])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(f"{need['field']} ({need['reason']})" for need in value)
    return str(value)
