"""`longshore compare` and `longshore simulate`: what another policy would do, before touching a cluster."""

import math
import shlex
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import check_writable, read_bytes, read_objective, write_bytes
from longshore.cli.names import split_names
from longshore.cli.output import JsonOption, emit, note, printable, write_assumptions, write_table, write_wide_table
from longshore.cli.outside import warn_outside_trace
from longshore.cli.progress import stages
from longshore.core.words.assumed import marked
from longshore.core.words.errors import InputError
from longshore.core.words.text import DIGITS, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longshore.core.words.trace import Trace
    from longshore.evaluation.comparison import Comparison, Row
    from longshore.evaluation.series import Series

DEFAULT_POLICIES = "kube-default,random,round-robin,least-allocated,most-allocated,best-fit,low-power,energy-latency"
DEFAULT_OBJECTIVE, DEFAULT_SEEDS = "el-rl", 12
# What the text table shows; --json has every metric.
_COLUMNS = (
    "reward",
    "active_nodes",
    "watts_idle_off",
    "latency_ms",
    "hard_violations",
    "watts",
    "cpu_variance",
    "unschedulable",
)
_DIGITS = 3
WAITS = "†"

WorkloadOption = Annotated[str, typer.Option(help="A workload's name (`longshore list workloads`) or a trace file.")]
ObjectiveOption = Annotated[
    str, typer.Option(help="Objective: a name, `name=weight,…`, YAML or a YAML file.", callback=read_objective)
]
NodesOption = Annotated[int | None, typer.Option(help="Number of nodes; the workload's own by default.", min=1)]
SeedsOption = Annotated[int, typer.Option(help="How many traces; every policy meets the same ones.", min=1)]
LagOption = Annotated[
    float, typer.Option(help="Scrape interval of latency readings in seconds; 0 = always fresh.", min=0)
]
FiltersOption = Annotated[
    str | None,
    typer.Option(help="Filter set for all: upstream or upstream+latency. By default upstream, and a bundle's own."),
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the workload, `name=value`.")]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report with plots.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="compare")(compare)
    app.command(name="simulate")(simulate)


def compare(
    workload: WorkloadOption = "test1",
    policies: Annotated[
        str, typer.Option(help="Policies: names or folders of bundles, separated by commas.")
    ] = DEFAULT_POLICIES,
    objective: ObjectiveOption = DEFAULT_OBJECTIVE,
    nodes: NodesOption = None,
    seeds: Annotated[
        int, typer.Option(help="How many traces; every policy meets the same ones.", min=1)
    ] = DEFAULT_SEEDS,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    lag: LagOption = 0.0,
    filters: FiltersOption = None,
    parameters: SetOption = None,
    report: ReportOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Compare policies on the same pods: means with 95 % intervals, and how far they are from the optimum."""
    keep_compiled_programs()
    from longshore.evaluation.comparison import compare_traces

    check_writable(report, "--report")
    names = split_names(policies)
    traces, given = load_traces(workload, nodes, parameters, range(first_seed, first_seed + seeds))
    warn_outside_trace(names, traces[0])
    runs: list[Series] = []
    with stages() as tell:
        found = compare_traces(
            workload,
            traces,
            names,
            objective,
            first_seed=first_seed,
            lag_seconds=lag,
            filters=filters,
            progress=tell,
            series=runs,
        )
        found = replace(found, parameters=given)
        if report is not None:
            tell("report", 0, len(names))
            write_reports([found], runs, {workload: traces[0]}, report, datetime.now(UTC))
    emit(json_mode, found.to_json(), lambda: render(found))


def simulate(
    workload: WorkloadOption = "test1",
    policy: Annotated[str, typer.Option(help="The policy: a name, or the folder of a bundle.")] = "kube-default",
    objective: ObjectiveOption = DEFAULT_OBJECTIVE,
    nodes: NodesOption = None,
    seed: Annotated[int, typer.Option(help="The trace's seed.", min=0)] = 0,
    lag: LagOption = 0.0,
    filters: FiltersOption = None,
    parameters: SetOption = None,
    report: ReportOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Play one workload under one policy and show what came of it, step by step with --json."""
    keep_compiled_programs()
    from longshore.evaluation.series import simulate_trace

    check_writable(report, "--report")
    (trace,), _ = load_traces(workload, nodes, parameters, range(seed, seed + 1))
    run = simulate_trace(workload, trace, policy, objective, seed=seed, lag_seconds=lag, filters=filters)
    if report is not None:
        write_reports([], [run], {workload: trace}, report, datetime.now(UTC))
    emit(json_mode, run.to_json(), lambda: _render_run(run))


def _render_run(run: "Series") -> None:
    rows = metric_rows(run.metrics)
    write_table(("metric", "value"), [(marked(name, run.assumed), value) for name, value in rows])
    write_assumptions(run.assumptions)


def load_traces(
    workload: str, nodes: int | None, parameters: list[str] | None, seeds: range
) -> "tuple[list[Trace], dict[str, object]]":
    """Return a trace for every seed, and the workload's parameters; a trace file is the same for every seed.

    A name of the table is a workload, even where a file of that name lies about.
    """
    from longshore.core.words.objects import Objects
    from longshore.filters.unsupported import find_unsupported
    from longshore.kube.trace_file import read_trace
    from longshore.workloads import REGISTRY
    from longshore.workloads.build import build_workload

    given = parse_parameters(parameters)
    if workload not in REGISTRY and ("/" in workload or Path(workload).suffix) and not _is_file(workload):
        raise InputError(
            f"the trace file `{workload}` does not exist", "`longshore list workloads` names what needs no file"
        )
    if workload in REGISTRY or not _is_file(workload):
        given |= {} if nodes is None else {"nodes": nodes}
        made = build_workload(workload, given)
        return [made.trace(seed) for seed in seeds], given
    if nodes is not None or given:
        raise InputError("a trace file has its nodes and pods already", "leave `--nodes` and `--set` out")
    trace = read_trace(read_bytes(workload).splitlines())
    snapshot = trace.snapshot()
    objects = Objects.of(snapshot)
    for pod in snapshot.pods:
        needs = find_unsupported(pod, objects)
        if needs:
            raise InputError(
                f"pod `{pod.key}` uses {needs[0].field}, which longshore does not model: {needs[0].reason}",
                "leave the pod out of the trace",
            )
    if len(seeds) > 1:
        note(f"note: one trace is played {len(seeds)} times: intervals show how ties are broken, not other workloads")
    return [trace] * len(seeds), given


def _is_file(workload: str) -> bool:
    try:
        return workload == "-" or Path(workload).is_file()
    except OSError:  # a name that no file system takes
        return False


def parse_parameters(given: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InputError(f"got `--set {text}`, expected `--set name=value`", "for instance `--set cycles=4`")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def write_reports(
    comparisons: "list[Comparison]", runs: "list[Series]", traces: "dict[str, Trace]", path: Path, now: datetime
) -> None:
    """Write an HTML report, and say where; `traces` are the first of each workload, for their latency limits."""
    from longshore.evaluation.report import latency_limits, render_report

    command = "longshore " + shlex.join(sys.argv[1:])
    limits = {name: latency_limits(trace) for name, trace in traces.items()}
    text = render_report(comparisons, runs, command=command, date=now.strftime("%Y-%m-%d"), limits=limits)
    write_bytes(path, text.encode(), "--report")
    note(f"wrote {path}")


def render(found: "Comparison") -> None:
    """Print a comparison: what it comes to in a sentence, then a table."""
    for sentence in found.verdicts:
        print(printable(f"{found.workload}: {sentence}"))
    seeds = f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    note(f"\n{found.nodes} nodes, {seeds}, objective {found.objective}, filters {found.filters}\n")
    rows = [
        (f"{row.policy} {WAITS}" * row.has_waiting or row.policy, *(_interval(row, name) for name in _COLUMNS))
        for row in found.rows
    ]
    bounds = ("bound", *(_bound(found, name) for name in _COLUMNS))
    # What is the same for all is said once.
    differs = [column for column in range(1, len(bounds)) if len({row[column] for row in rows}) > 1]
    headers = ("policy", *(marked(name, found.assumed) for name in _COLUMNS))
    same = [f"{headers[column]} {rows[0][column]}" for column in range(1, len(bounds)) if column not in differs]
    chosen = [0, *(differs or range(1, len(bounds)))]
    table = [[row[column] for column in chosen] for row in (*rows, bounds)]
    write_wide_table([headers[column] for column in chosen], table)
    if same and differs:
        note(f"\nthe same for all: {', '.join(same)}")
    write_assumptions(found.assumptions)
    if any(row.has_waiting for row in found.rows):
        note(f"\n{WAITS} left pods waiting: it can use less because it does less, and the bounds do not hold for it")
    note("\nmean [95 % interval]; --json has every metric, the paired differences and each seed's own number")


def _interval(row: "Row", name: str) -> str:
    found, digits = row.metrics[name], DIGITS if name == "reward" else _DIGITS
    ends = () if math.isnan(found.low) else (found.low, found.high)
    return quantity(found.mean, _unit(name), *ends, digits=digits)


def _bound(found: "Comparison", name: str) -> str:
    bound = found.bounds.get(name)
    return "-" if bound is None or bound.value is None else f"{quantity(bound.value, _unit(name))} ({bound.kind})"


def _unit(name: str) -> str:
    from longshore.evaluation.metrics import METRICS

    return METRICS[name].unit


def metric_rows(metrics: "Mapping[str, float]") -> list[tuple[str, str]]:
    """Return the metrics of one run as rows of a table."""
    return [(name, quantity(value, _unit(name), digits=6)) for name, value in metrics.items()]
