"""`longshore table`: tables that others published on the openb GPU trace, with our policies beside theirs."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.groups import add_group
from longshore.cli.names import split_different_names
from longshore.cli.output import JsonOption, emit
from longshore.cli.progress import stages
from longshore.core.words.errors import InputError, UnknownNameError
from longshore_studies.openb.commands.table_text import render_churn, render_fgd, render_pwr, render_speed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from longshore.policies.base import Policy
    from longshore_studies.openb.tables.batch_bounds import Bounds
    from longshore_studies.openb.tables.openb import Nodes, Pods
    from longshore_studies.openb.tables.runs import SeededRuns

_MOST_SEEDS = 1000
_SEEDS = 1 << 32

DataOption = Annotated[
    Path, typer.Option(help="Folder with `openb_node_list_gpu_node.csv` and `openb_pod_list_NAME.csv`.")
]
TracesOption = Annotated[str | None, typer.Option(help="Pod lists by NAME, separated by commas; all that are found.")]
PoliciesOption = Annotated[str, typer.Option(help="Policies: names or folders of bundles, separated by commas.")]
SeedsOption = Annotated[str, typer.Option(help="Seeds of the arrival order, such as `42-51` or `42,50-60`.")]
RatioOption = Annotated[float, typer.Option(help="Pods arrive until they ask for so many times the cluster's GPUs.")]
ScaleOption = Annotated[float, typer.Option(help="So many times as many nodes of every kind: 0.25, 4.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    add_group(app, "table", "Make published tables on the openb GPU trace again.", fgd, pwr, churn, speed)


def fgd(
    data: DataOption,
    traces: TracesOption = None,
    policies: PoliciesOption = "random,dot-product,gpu-clustering,gpu-packing,gpu-best-fit,fgd",
    seeds: SeedsOption = "42-51",
    ratio: RatioOption = 1.3,
    nodes_scale: ScaleOption = 1.0,
    published: Annotated[
        Path | None,
        typer.Option(help="Folder with `allocation_percent.csv`, shown beside; `DATA/../fgd_expected` if there."),
    ] = None,
    bounds: Annotated[
        bool, typer.Option(help="Show what no policy can beat that places all pods up to 90 %; half a minute a trace.")
    ] = False,
    json_mode: JsonOption = False,
) -> None:
    """GPU allocation in percent as demand grows: the table of FGD (USENIX ATC'23). No feasible pod is refused."""
    _prepare_jax()
    from longshore_studies.openb.tables.batch_bounds import allocation_bounds
    from longshore_studies.openb.tables.fgd import LEVELS, allocation_row
    from longshore_studies.openb.tables.levels import published as read_published
    from longshore_studies.openb.tables.runs import draw, play_all

    found, numbers = find_policies(policies), parse_seeds(seeds)
    nodes, lists = read_data(data, traces, nodes_scale)
    if published is None and nodes_scale == 1 and (data.resolve().parent / "fgd_expected").is_dir():
        published = data.resolve().parent / "fgd_expected"
    beside = {} if published is None or json_mode else read_published(published)
    with stages() as tell:
        tell("arrivals", 0, len(lists))
        batches = draw(nodes, lists, numbers, ratio)
        total = len(batches) * len(found)
        rows = play_all(batches, found, allocation_row, lambda done: tell("runs", done, total))
        limits = _by_trace(tell, batches, lambda batch: allocation_bounds(batch, LEVELS)) if bounds else {}
    payload = {"rows": [row.to_json() | _bound(limits, row.trace) for row in rows]}
    emit(json_mode, payload, lambda: render_fgd(rows, beside, limits))


def pwr(
    data: DataOption,
    traces: TracesOption = None,
    policies: PoliciesOption = "fgd,pwr,pwr500-fgd500,pwr200-fgd800,gpu-best-fit",
    seeds: SeedsOption = "42-51",
    ratio: RatioOption = 1.3,
    nodes_scale: ScaleOption = 1.0,
    bounds: Annotated[bool, typer.Option(help="Show what no policy that places every pod can beat.")] = True,
    json_mode: JsonOption = False,
) -> None:
    """Megawatts, accepted GPUs and active nodes as demand grows: the table of PWR (CCGrid'25), by its power model."""
    _prepare_jax()
    from longshore_studies.openb.tables.batch_bounds import power_bounds
    from longshore_studies.openb.tables.pwr import LEVELS, power_row
    from longshore_studies.openb.tables.runs import draw, play_all

    found, numbers = find_policies(policies), parse_seeds(seeds)
    nodes, lists = read_data(data, traces, nodes_scale)
    with stages() as tell:
        tell("arrivals", 0, len(lists))
        batches = draw(nodes, lists, numbers, ratio)
        total = len(batches) * len(found)
        rows = play_all(batches, found, power_row, lambda done: tell("runs", done, total))
        limits = _by_trace(tell, batches, lambda batch: power_bounds(batch, LEVELS)) if bounds else {}
    payload = {"rows": [row.to_json() | _bound(limits, row.trace) for row in rows]}
    emit(json_mode, payload, lambda: render_pwr(rows, limits))


def churn(
    data: DataOption,
    traces: TracesOption = None,
    policies: PoliciesOption = "fgd,pwr,pwr500-fgd500,pwr200-fgd800,gpu-best-fit",
    seeds: SeedsOption = "42-51",
    loads: Annotated[
        str,
        typer.Option(help="Peaks of demand in percent of the GPUs; below its own, the trace is played as it is."),
    ] = "1,20,50,80",
    nodes_scale: ScaleOption = 1.0,
    json_mode: JsonOption = False,
) -> None:
    """Node-hours and kWh with the trace's creation and deletion times; time is compressed to reach a load."""
    _prepare_jax()
    from longshore_studies.openb.tables.churn import churn_row, with_departures
    from longshore_studies.openb.tables.runs import play_all

    found, numbers, peaks = find_policies(policies), parse_seeds(seeds), parse_loads(loads)
    nodes, lists = read_data(data, traces, nodes_scale)
    if traces is None:
        lists = {trace: pods for trace, pods in lists.items() if pods.created is not None} or lists
    with stages() as tell:
        tell("departures", 0, len(lists))
        cases = {case.batch: case for case in with_departures(nodes, lists, numbers, peaks)}
        total = len(cases) * len(found)
        rows = play_all(
            list(cases),
            found,
            lambda batch, policy, played: churn_row(cases[batch], policy, played),
            lambda done: tell("runs", done, total),
        )
    emit(json_mode, {"rows": [row.to_json() for row in rows]}, lambda: render_churn(rows))


def speed(
    data: DataOption,
    traces: TracesOption = "default",
    policies: PoliciesOption = "fgd,gpu-best-fit",
    seeds: SeedsOption = "42-51",
    pods: Annotated[int, typer.Option(help="Pods that are played without the cache.", min=1)] = 300,
    json_mode: JsonOption = False,
) -> None:
    """Pods per second on one core with only the changed node rescored, and in NumPy with every node rescored."""
    _prepare_jax()
    from longshore_studies.openb.tables.speed import measure

    found, numbers = find_policies(policies), parse_seeds(seeds)
    nodes, lists = read_data(data, traces, 1.0)
    rows = []
    with stages() as tell:
        for done, (trace, list_) in enumerate(lists.items()):
            tell("traces", done, len(lists))
            rows += [measure(trace, nodes, list_, numbers, policy, pods) for policy in found]
    payload = {"rows": [row._asdict() for row in rows]}
    emit(json_mode, payload, lambda: render_speed(rows))


def _prepare_jax() -> None:
    """Keep programs, and keep each of two runs at once to a core; must run before JAX is imported."""
    keep_compiled_programs()
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")


def _by_trace(
    tell: "Callable[[str, int, int], None]",
    batches: "Sequence[SeededRuns]",
    bound: "Callable[[SeededRuns], Bounds]",
) -> "dict[str, Bounds]":
    found = {}
    for done, batch in enumerate(batches):
        tell("bounds", done, len(batches))
        found[batch.trace] = bound(batch)
    return found


def _bound(limits: "Mapping[str, Bounds]", trace: str) -> dict[str, object]:
    if trace not in limits:
        return {}
    return {"bound": {name: {str(level): value for level, value in by.items()} for name, by in limits[trace].items()}}


def find_policies(policies: str) -> "list[Policy]":
    """Look all policies up."""
    from longshore.deciding.find import find_policy

    names = split_different_names(policies)
    if not names:
        raise InputError("got no policies, expected at least one", "for instance `--policies fgd,gpu-best-fit`")
    return [find_policy(name) for name in names]


def read_data(folder: Path, traces: str | None, scale: float) -> "tuple[Nodes, dict[str, Pods]]":
    """Read the cluster, and the pod lists that are asked for, or all."""
    from longshore_studies.openb.tables.openb import find_traces, read_nodes, read_pods
    from longshore_studies.openb.tables.scale import scaled

    found = find_traces(folder)
    names = list(found) if traces is None else split_different_names(traces)
    for name in names:
        if name not in found:
            raise UnknownNameError("trace", name, found)
    if not names:
        raise InputError("got no traces, expected at least one", f"`{folder}` has {', '.join(found)}")
    nodes = read_nodes(folder)
    return nodes if scale == 1 else scaled(nodes, scale), {name: read_pods(folder, name) for name in names}


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of `42-51,60`, each once."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= _MOST_SEEDS or last >= _SEEDS:
            raise InputError(
                f"got the seeds `{part}`, expected a number below {_SEEDS}, or a first and a last one at most "
                f"{_MOST_SEEDS} apart",
                "for instance `--seeds 42-51` or `--seeds 42,50-60`",
            )
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def parse_loads(text: str) -> tuple[float, ...]:
    """Return the percents of `20,50`."""
    loads = []
    for part in text.split(","):
        try:
            load = float(part)
        except ValueError:
            load = 0.0
        if not 0 < load <= 1000:
            raise InputError(f"got the load `{part}`, expected a percent above 0", "for instance `--loads 20,50,80`")
        loads.append(load)
    return tuple(dict.fromkeys(loads))
