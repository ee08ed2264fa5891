"""`longshore record`: what happens in a live cluster as a trace that the simulator plays."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.files import check_writable, write_bytes
from longshore.cli.interruption import stop_event
from longshore.cli.options import ContextOption, KubeconfigOption, ReadingsOption
from longshore.cli.output import JsonOption, emit, note
from longshore.core.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longshore.live.recording import Recorder, Recording, Scope
    from longshore.telemetry.base import Source

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")
_LINE_SECONDS = 10.0


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="record")(record)


def record(
    out: Annotated[Path, typer.Option(help="Where the trace goes, JSON Lines.")],
    duration: Annotated[
        str | None, typer.Option("--for", help="How long, such as `60s`, `5m`; by default until Ctrl-C.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Record only this namespace's pods.")] = None,
    scheduler_name: Annotated[str | None, typer.Option(help="Record only pods with this schedulerName.")] = None,
    readings: ReadingsOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Write what happens in a live cluster as a trace: pods created, deleted, ended; nodes joining, leaving, cordoned.

    `longshore simulate --workload FILE` and `compare` play it. Images, environment and secrets are not recorded, only
    what scheduling reads. Pods that run already are in the trace from time 0, each on its node.
    """
    from longshore.core.words.trace import Create
    from longshore.kube.config import load_identity
    from longshore.kube.trace_file import write_trace
    from longshore.live.recording import Scope
    from longshore.telemetry.sources import find_sources

    check_writable(out, "--out")
    seconds = None if duration is None else parse_duration(duration)
    sources = find_sources(readings or ())
    identity = load_identity(kubeconfig, context)
    spaces = None if namespace is None else frozenset({namespace})
    recording = _watch(identity, Scope(spaces, scheduler_name), seconds, sources)
    write_bytes(out, b"".join(write_trace(recording.trace)), "--out")
    num_pods = sum(isinstance(event, Create) for event in recording.trace.events)
    facts = {
        "out": str(out),
        "seconds": recording.trace.end,
        "nodes": len(recording.trace.nodes),
        "pods": num_pods,
        "events": len(recording.trace.events),
        "remarks": list(recording.remarks),
    }
    for remark in recording.remarks:
        note(f"note: {remark}")
    if not num_pods:
        note("note: no pod was seen; a trace needs one to be played")

    def render() -> None:
        told = f"{num_pods} pods, {len(recording.trace.nodes)} nodes, {len(recording.trace.events)} events"
        print(f"{out}: {told} in {recording.trace.end:g} s")
        note(f"`longshore compare --workload {out}` plays it")

    emit(json_mode, facts, render)


def parse_duration(text: str) -> float:
    """Read `90`, `90s`, `1.5m` or `1h` as seconds.

    Raises:
        InputError: it is none of these.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found.group(1)) > 0:
        raise InputError(f"got `--for {text}`, expected a time such as `60s`, `5m` or `1h`")
    return float(found.group(1)) * _UNITS[found.group(2)]


def _watch(identity: object, scope: "Scope", seconds: float | None, sources: "Mapping[str, Source]") -> "Recording":
    import asyncio

    from longshore.kube.client import Client
    from longshore.live.record import record as watch

    last = float("-inf")

    def show(recorder: "Recorder", time: float) -> None:
        nonlocal last
        if time - last >= _LINE_SECONDS:
            last = time
            waiting = len(recorder.waiting)
            note(f"{time:5.0f} s  {recorder.num_bound + waiting} pods, {waiting} pending")

    async def work() -> "Recording":
        async with stop_event() as stop, Client(identity) as client:  # type: ignore[arg-type]
            return await watch(client, scope, stop, seconds=seconds, readings=sources, show=show)

    return asyncio.run(work())
