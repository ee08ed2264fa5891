"""`longshore workload run`: a workload's pods in a live cluster, in real time, and a result as of `simulate`."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.cli.compare import DEFAULT_OBJECTIVE, NodesOption, ObjectiveOption, SetOption, load_traces, metric_rows
from longshore.cli.files import check_writable, write_bytes
from longshore.cli.groups import add_group
from longshore.cli.options import ContextOption, KubeconfigOption
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from longshore.core.words.trace import Trace
    from longshore.live.workload.result import LiveResult
    from longshore.live.workload.run import Observed, Progress, RunOptions


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    add_group(app, "workload", "The simulator's workloads in a live cluster.", run)


def run(
    workload: Annotated[
        str, typer.Argument(help="A workload's name (`longshore list workloads`) or a trace file.", metavar="WORKLOAD")
    ],
    scheduler_name: Annotated[str, typer.Option(help="Who is to place the pods: their schedulerName.")] = "longshore",
    seed: Annotated[int, typer.Option(help="The trace's seed.", min=0)] = 0,
    speed: Annotated[float, typer.Option(help="Seconds of the workload in a real second.", min=0.001)] = 1.0,
    make_nodes: Annotated[
        bool, typer.Option("--make-nodes", help="Make the workload's own nodes, too (KWOK, on a `longshore cluster`).")
    ] = False,
    readings: Annotated[
        Path | None, typer.Option(help="Write latencies to this file, for `longshore schedule --readings`.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image of all containers; by default one that only waits.")] = None,
    objective: ObjectiveOption = DEFAULT_OBJECTIVE,
    nodes: NodesOption = None,
    parameters: SetOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    out: Annotated[Path | None, typer.Option(help="Also write the result to this file, as JSON.")] = None,
    json_mode: JsonOption = False,
) -> None:
    """Create a workload's pods in a live cluster, as Deployments or Pods, and delete them as it says.

    Everything is in a namespace of its own, `longshore-workload-…`, and is taken away in the end, also after Ctrl-C.
    The result has the metrics of `longshore simulate`, measured on what was seen in the cluster.
    """
    from longshore.kube.config import load_identity
    from longshore.live.workload.ground import Wishes
    from longshore.live.workload.run import RunOptions

    for path, option in ((out, "--out"), (readings, "--readings")):
        check_writable(path, option)
    (trace,), _ = load_traces(workload, nodes, parameters, range(seed, seed + 1))
    name = Path(workload).stem if workload.endswith((".jsonl", ".json")) else workload
    wishes = Wishes(name, seed, scheduler_name, makes_nodes=make_nodes, image=image)
    run = RunOptions(wishes, speed, trace_end(trace), readings)
    identity = load_identity(kubeconfig, context)
    observed = play(identity, trace, run)
    result = measure(observed, workload, run, objective)
    payload = result.to_json()
    if out is not None:
        import msgspec

        write_bytes(out, msgspec.json.encode(payload) + b"\n", "--out")
        note(f"wrote {out}")
    emit(json_mode, payload, lambda: render(result))


def trace_end(trace: "Trace") -> float:
    """Return when a trace ends, as the simulator's metrics have it."""
    from longshore.evaluation.timeline import window

    return window(trace).end


def play(
    identity: Any, trace: "Trace", run: "RunOptions", watch: "Callable[[Progress], None]" = lambda _: None
) -> "Observed":
    """Run a trace in a cluster, with progress, of which `watch` is told too; Ctrl-C ends it early and in order."""
    import asyncio
    import signal

    from longshore.kube.client import Client
    from longshore.live.workload.run import run_workload

    async def work() -> "Observed":
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            note("stopping; what was made is deleted …")
            stop.set()
            loop.remove_signal_handler(signal.SIGINT)  # who asks again does not want to wait

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        with _shown(f"{run.wishes.name} by {run.wishes.scheduler_name}") as show:

            def tell(at: "Progress") -> None:
                show(at)
                watch(at)

            async with Client(identity) as client:
                return await run_workload(client, trace, run, stop=stop, show=tell)

    return asyncio.run(work())


def measure(observed: "Observed", workload: str, run: "RunOptions", objective: str) -> "LiveResult":
    """Turn what was seen into the result, and say what there is to say about it."""
    from longshore.live.workload.result import make_result

    for remark in observed.remarks:
        note(f"note: {remark}")
    try:
        result = make_result(observed, workload, run.wishes.scheduler_name, objective, run.wishes.seed, run.speed)
    except InputError as error:
        if observed.is_interrupted:
            raise InputError("interrupted before the first pod was created") from error
        raise
    if result.never_bound:
        note(f"note: {result.never_bound} pods were never bound; does a scheduler `{run.wishes.scheduler_name}` run?")
    return result


def render(result: "LiveResult") -> None:
    """Print the result as a table."""
    rows = metric_rows(result.series.metrics)
    rows += [(f"waiting_seconds_{name}", f"{value:.3g}") for name, value in result.waits._asdict().items()]
    write_table(("metric", "value"), rows)


@contextlib.contextmanager
def _shown(what: str) -> "Iterator[Callable[[Progress], None]]":
    """Yield a function that takes how far a run is: a bar on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        told = TextColumn("{task.fields[told]}")
        columns = (TextColumn(what), BarColumn(), told, TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=1.0, told="")
            yield lambda at: bar.update(task, completed=_share(at), told=_line(at))
        return
    last = -1

    def tell(at: "Progress") -> None:
        nonlocal last
        tenth = int(10 * _share(at))
        if tenth > last:
            last = tenth
            note(f"{what}: {at.time:.0f} of {at.end:.0f} s, {_line(at)}")

    yield tell


def _share(at: "Progress") -> float:
    return min(at.time / at.end, 1.0) if at.end > 0 else 1.0


def _line(at: "Progress") -> str:
    return f"{at.created} created, {at.bound} bound, {at.pending} pending"
