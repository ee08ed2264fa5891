"""`longshore evaluate`: what trained policies are worth on traces that they have not met, beside plain policies."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.cli.compare import (
    DEFAULT_OBJECTIVE,
    DEFAULT_POLICIES,
    DEFAULT_SEEDS,
    NodesOption,
    ReportOption,
    SetOption,
    load_traces,
    render,
    write_reports,
)
from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import check_writable, read_objective
from longshore.cli.names import split_names
from longshore.cli.output import JsonOption, emit
from longshore.cli.outside import warn_outside_trace
from longshore.cli.progress import stages

if TYPE_CHECKING:
    from longshore.core.words.trace import Trace
    from longshore.evaluation.comparison import Comparison
    from longshore.evaluation.series import Series

_DEFAULTS = {"workload": "test1", "objective": DEFAULT_OBJECTIVE, "lag_seconds": 0.0}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="evaluate")(evaluate)


def evaluate(
    bundles: Annotated[list[str], typer.Argument(help="Folders of bundles.", metavar="BUNDLE...")],
    workload: Annotated[
        str | None, typer.Option(help="A workload or a trace file; by default the bundle's own.")
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="Objective; by default what the bundle was trained for.", callback=read_objective),
    ] = None,
    nodes: NodesOption = None,
    parameters: SetOption = None,
    seeds: Annotated[
        int, typer.Option(help="How many traces; every policy meets the same ones.", min=1)
    ] = DEFAULT_SEEDS,
    first_seed: Annotated[int, typer.Option(help="The first seed; trainings use seeds from 1000000.", min=0)] = 0,
    lag: Annotated[
        float | None, typer.Option(help="Scrape interval, seconds; by default as in training.", min=0)
    ] = None,
    policies: Annotated[str, typer.Option(help="Policies to compare with, separated by commas.")] = DEFAULT_POLICIES,
    report: ReportOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Compare trained policies with plain ones on traces of their own workload that they have not met."""
    keep_compiled_programs()
    check_writable(report, "--report")
    others = split_names(policies)
    found: list[Comparison] = []
    runs: list[Series] = []
    firsts: dict[str, Trace] = {}
    with stages() as tell:
        for setting, members in _groups(bundles, workload, objective, nodes, parameters, lag).items():
            names = [*members, *(name for name in others if name not in members)]
            compared, traces = _compare(setting, names, first_seed, seeds, tell)
            found.append(compared)
            if report is not None:
                runs += _runs(compared, traces[0], members)
                firsts[compared.workload] = traces[0]
        if report is not None:
            write_reports(found, runs, firsts, report, datetime.now(UTC))
    payload = {"comparisons": [one.to_json() for one in found]}
    emit(json_mode, payload, lambda: _render(found))


Setting = tuple[str, str, float, tuple[str, ...]]
"""Workload, objective, lag, and the workload's parameters as `name=value`."""


def _groups(
    bundles: list[str],
    workload: str | None,
    objective: str | None,
    nodes: int | None,
    parameters: list[str] | None,
    lag: float | None,
) -> dict[Setting, list[str]]:
    """Say which bundles are compared on what: each on its own, unless something else was asked for."""
    found: dict[Setting, list[str]] = {}
    for bundle in bundles:
        own = _own_setting(bundle)
        config = dict(own.get("workload_config", {})) if workload is None else {}
        config |= {} if nodes is None else {"nodes": nodes}
        texts = (*(f"{name}={value}" for name, value in config.items()), *(parameters or ()))
        setting = (
            workload or _own(bundle, own, "workload"),
            objective or _own(bundle, own, "objective"),
            float(own["lag_seconds"]) if lag is None else lag,
            texts,
        )
        found.setdefault(setting, []).append(bundle)
    return found


def _own(bundle: str, own: dict[str, Any], what: str) -> str:
    """Return what a bundle was trained for or on; it comes from anywhere, so it may not name code that is then run."""
    from longshore.core.words.errors import InputError

    text = str(own[what])
    if ".py" in text or "\\" in text:  # a backslash: YAML could spell it otherwise
        raise InputError(
            f"the {what} of the bundle `{bundle}` is `{text}`, code in a file, which is not run on its word",
            f"give the {what} yourself by `--{what}`, if you know the file",
        )
    return text


def _own_setting(bundle: str) -> dict[str, Any]:
    from longshore.policies.bundle_folder import read_folder

    folder = Path(bundle)
    if not folder.exists() and "@" in bundle:  # weights for this run stand behind it
        folder = Path(bundle.rpartition("@")[0])
    policy = read_folder(folder)
    return {**_DEFAULTS, "objective": policy.objective, **policy.provenance}


def _compare(
    setting: Setting, names: list[str], first_seed: int, seeds: int, tell: Any
) -> "tuple[Comparison, list[Trace]]":
    from longshore.evaluation.comparison import compare_traces

    workload, objective, lag, parameters = setting
    traces, given = load_traces(workload, None, list(parameters), range(first_seed, first_seed + seeds))
    warn_outside_trace(names, traces[0])
    found = compare_traces(workload, traces, names, objective, first_seed=first_seed, lag_seconds=lag, progress=tell)
    return replace(found, parameters=given), traces


def _runs(found: "Comparison", trace: "Trace", members: list[str]) -> "list[Series]":
    from longshore.evaluation.series import simulate_trace

    names = [found.baseline, *members]
    return [
        simulate_trace(found.workload, trace, name, found.objective, seed=found.seeds[0], lag_seconds=found.lag_seconds)
        for name in names
    ]


def _render(found: "list[Comparison]") -> None:
    for number, one in enumerate(found):
        if number:
            print()
        render(one)
