"""`longshore compare` and `longshore simulate`: what another policy would do, before touching a cluster."""

import math
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import read_bytes
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.cli.progress import stages
from longshore.core.errors import InputError

if TYPE_CHECKING:
    from longshore.core.trace import Trace
    from longshore.evaluation.comparison import Comparison
    from longshore.evaluation.series import Series
    from longshore.evaluation.statistics import Interval

DEFAULT_POLICIES = "kube-default,random,round-robin,least-allocated,most-allocated,best-fit,low-power,energy-latency"
# What the text table shows; --json has every metric.
_COLUMNS = ("reward", "active_nodes", "cpu_variance", "latency_ms", "hard_violations", "watts", "unschedulable")

WorkloadOption = Annotated[str, typer.Option(help="A workload's name (`longshore list workloads`) or a trace file.")]
ObjectiveOption = Annotated[str, typer.Option(help="Objective: a name, `name=weight,…` or YAML.")]
NodesOption = Annotated[int | None, typer.Option(help="Number of nodes; the workload's own by default.", min=1)]
LagOption = Annotated[
    float, typer.Option(help="Scrape interval of latency readings in seconds; 0 = always fresh.", min=0)
]
FiltersOption = Annotated[str, typer.Option(help="Filter set: upstream or upstream+latency.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the workload, `name=value`.")]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report with plots.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="compare")(compare)
    app.command(name="simulate")(simulate)


def compare(
    workload: WorkloadOption = "test1",
    policies: Annotated[str, typer.Option(help="Policies, separated by commas.")] = DEFAULT_POLICIES,
    objective: ObjectiveOption = "el-rl",
    nodes: NodesOption = None,
    seeds: Annotated[int, typer.Option(help="How many traces; every policy meets the same ones.", min=1)] = 12,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    lag: LagOption = 0.0,
    filters: FiltersOption = "upstream",
    parameters: SetOption = None,
    report: ReportOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Compare policies on the same pods: means with 95 % intervals, and how far they are from the optimum."""
    keep_compiled_programs()
    from longshore.evaluation import comparison
    from longshore.evaluation.series import simulate as play_once

    names = [name.strip() for name in policies.split(",") if name.strip()]
    common: dict[str, Any] = {"lag_seconds": lag, "filters": filters}
    trace, given = _trace_file(workload), _parameters(parameters)
    with stages() as tell:
        if trace is None:
            found = comparison.compare(
                workload,
                names,
                objective,
                nodes=nodes,
                seeds=seeds,
                first_seed=first_seed,
                parameters=given,
                progress=tell,
                **common,
            )
        else:
            _refuse_parameters(nodes, given)
            found = comparison.compare_traces(
                workload, [trace] * seeds, names, objective, first_seed=first_seed, progress=tell, **common
            )
        if report is not None:
            tell("report", 0, len(names))
            runs = [
                play_once(workload, name, objective, nodes=nodes, seed=first_seed, parameters=given, **common)
                if trace is None
                else _play_trace(workload, trace, name, objective, first_seed, common)
                for name in names
            ]
            write_reports([found], runs, report, datetime.now(UTC))
    emit(json_mode, found.to_json(), lambda: render(found))


def simulate(
    workload: WorkloadOption = "test1",
    policy: Annotated[str, typer.Option(help="The policy.")] = "kube-default",
    objective: ObjectiveOption = "el-rl",
    nodes: NodesOption = None,
    seed: Annotated[int, typer.Option(help="The trace's seed.", min=0)] = 0,
    lag: LagOption = 0.0,
    filters: FiltersOption = "upstream",
    parameters: SetOption = None,
    report: ReportOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Play one workload under one policy and show what came of it, step by step with --json."""
    keep_compiled_programs()
    from longshore.evaluation.series import simulate as play_once

    common: dict[str, Any] = {"lag_seconds": lag, "filters": filters}
    trace, given = _trace_file(workload), _parameters(parameters)
    if trace is None:
        run = play_once(workload, policy, objective, nodes=nodes, seed=seed, parameters=given, **common)
    else:
        _refuse_parameters(nodes, given)
        run = _play_trace(workload, trace, policy, objective, seed, common)
    if report is not None:
        write_reports([], [run], report, datetime.now(UTC))
    emit(json_mode, run.to_json(), lambda: write_table(("metric", "value"), _metric_rows(run)))


def _play_trace(name: str, trace: "Trace", policy: str, objective: str, seed: int, common: dict[str, Any]) -> "Series":
    from longshore.evaluation.series import simulate_trace

    return simulate_trace(name, trace, policy, objective, seed=seed, **common)


def _trace_file(workload: str) -> "Trace | None":
    """Read a trace file; a name of the table is none, even where a file of that name lies about."""
    from longshore.kube.trace_file import read_trace
    from longshore.workloads import REGISTRY

    if workload in REGISTRY.names() or not (workload == "-" or Path(workload).exists()):
        return None
    return read_trace(read_bytes(workload).splitlines())


def _parameters(given: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InputError(f"got `--set {text}`, expected `--set name=value`", "for instance `--set cycles=4`")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def _refuse_parameters(nodes: int | None, given: dict[str, object]) -> None:
    if nodes is not None or given:
        raise InputError("a trace file has its nodes and pods already", "leave `--nodes` and `--set` out")


def write_reports(comparisons: "list[Comparison]", runs: "list[Series]", path: Path, now: datetime) -> None:
    """Write an HTML report, and say where."""
    from longshore.evaluation.report import write_report

    command = "longshore " + shlex.join(sys.argv[1:])
    try:
        write_report(comparisons, runs, path, command=command, date=now.strftime("%Y-%m-%d"))
    except OSError as error:
        raise InputError(
            f"cannot write `{path}`: {error.strerror}", "give `--report` a file in a folder that exists"
        ) from error
    note(f"wrote {path}")


def render(found: "Comparison") -> None:
    """Print a comparison as a table."""
    seeds = f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    note(f"{found.workload}: {found.nodes} nodes, {seeds}, objective {found.objective}, filters {found.filters}\n")
    rows = [(row.policy, *(_interval(row.metrics[name]) for name in _COLUMNS)) for row in found.rows]
    bounds = [found.bounds.get(name) for name in _COLUMNS]
    rows.append(("bound", *("-" if b is None or b.value is None else f"{b.value:.4g} ({b.method})" for b in bounds)))
    write_table(("policy", *_COLUMNS), rows)
    note("\nmean [95 % interval]; --json has every metric, the paired differences and each seed's own number")


def _interval(interval: "Interval") -> str:
    if math.isnan(interval.mean):  # the metric does not apply
        return "-"
    if interval.low == interval.high:
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} [{interval.low:.4g}, {interval.high:.4g}]"


def _metric_rows(run: "Series") -> list[tuple[str, str]]:
    return [(name, f"{value:.6g}") for name, value in run.metrics.items()]
