"""`longshore sweep`: search a learner's hyperparameters, and train the best of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.words.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longshore.training.search.space import Space
    from longshore.training.search.sweep import Swept, Trial

INTERRUPTED_EXIT_CODE = 130
_MOST_ROWS = 10


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="sweep")(sweep_command)


def sweep_command(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help=", ".join(LEARNERS.table) + ".")],
    trials: Annotated[int, typer.Option(help="Trainings in all, those of earlier calls counted.", min=1)] = 20,
    network: Annotated[str, typer.Option(help="The network: " + ", ".join(NETWORKS.table) + ".")] = "deepsets",
    objective: Annotated[str, typer.Option(help="Objective: a name, `name=weight,…` or YAML.")] = "el-rl",
    workload: Annotated[str, typer.Option(help="A workload's name (`longshore list workloads`).")] = "test1",
    nodes: Annotated[int | None, typer.Option(help="Nodes of the workload; its own by default.", min=1)] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the workload, `name=value`.")
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(help="Search between these: `learning_rate=1e-4:1e-2`, `batch=64,256`, `network.width=16:64`."),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option(help="Do not search this: `batch=256`.")] = None,
    only: Annotated[bool, typer.Option("--only", help="Search nothing but what --search names.")] = False,
    preset: Annotated[str, typer.Option(help="Search around these: `longshore list presets`.")] = "default",
    prior: Annotated[str, typer.Option(metavar="POLICY", help="Correct this heuristic (hybrid).")] = "",
    guide: Annotated[str, typer.Option(metavar="POLICY|optimum|FILE", help="Cloned, or explored by.")] = "",
    limit: Annotated[str, typer.Option(help="To be kept before anything else: `p99_latency_ms<=25`.")] = "",
    lag: Annotated[float, typer.Option(help="How old latency readings can be, seconds.", min=0)] = 0.0,
    filters: Annotated[str, typer.Option(help="The filter set that it chooses behind.")] = "upstream+latency",
    training_traces: Annotated[int, typer.Option(help="Traces to train on.", min=1)] = 24,
    selection_traces: Annotated[int, typer.Option(help="Traces by which trials are judged.", min=1)] = 12,
    evaluations: Annotated[int, typer.Option(help="How often a trial is judged, and may be ended.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="Of the search and of every training.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Trainings per trial; it is judged by their mean.", min=1)] = 1,
    out: Annotated[Path, typer.Option(help="The sweep's folder; one that was stopped goes on.")] = Path("runs/sweep"),
    engine: Annotated[str, typer.Option(help="Where trials run: local, or ray for a cluster that is there.")] = "local",
    jobs: Annotated[
        int | None, typer.Option(help="Trials at once: one here, as many as fit on Ray, by default.", min=1)
    ] = None,
    ray_address: Annotated[str, typer.Option(help="The Ray cluster; auto = this machine's.")] = "auto",
    device: Annotated[str | None, typer.Option(help="Where to train: cpu or gpu.")] = None,
    bundle: Annotated[bool, typer.Option(help="Train the best into a bundle.")] = True,
    json_mode: JsonOption = False,
) -> None:
    """Search a learner's hyperparameters (Optuna), judged by the selection traces; then train the best."""
    _start(locals())


def _start(options: "Mapping[str, Any]") -> None:
    """Make the plan and its search of the command's options, by name."""
    learner, network, nodes = options["learner"], options["network"], options["nodes"]
    for registry, name in ((LEARNERS, learner), (NETWORKS, network)):
        if name not in registry.names():
            raise UnknownNameError(registry.kind, name, registry.names())
    from longshore.cli.compare import parse_parameters
    from longshore.cli.compilation import keep_compiled_programs
    from longshore.training.run.presets import find_preset

    chosen = find_preset(options["preset"], learner)
    keep_compiled_programs()
    from longshore.training.run.plan import Plan
    from longshore.training.search.space import make_space

    same = ("objective", "workload", "seed", "seeds", "selection_traces", "evaluations", "filters")
    plan = Plan(
        learner=learner,
        network=network,
        learner_config=dict(chosen.learners.get(learner, {})),
        network_config=dict(chosen.network_config or {}) if network == chosen.network else {},
        workload_config=parse_parameters(options["parameters"]) | ({} if nodes is None else {"nodes": nodes}),
        traces=options["training_traces"],
        lag_seconds=options["lag"],
        **{name: options[name] for name in (*same, "prior", "guide", "limit")},
    )
    space = make_space(plan, options["search"] or (), options["fix"] or (), has_only_searched=options["only"])
    where = {
        "name": options["engine"],
        "jobs": options["jobs"],
        "address": options["ray_address"],
        "gpus_per_job": 1.0 if options["device"] == "gpu" else 0.0,
    }
    _run(
        space,
        options["out"],
        options["trials"],
        where,
        options["device"],
        has_bundle=options["bundle"],
        json_mode=options["json_mode"],
    )


def _run(
    space: "Space",
    out: Path,
    trials: int,
    where: "Mapping[str, object]",
    device: str | None,
    *,
    has_bundle: bool,
    json_mode: bool,
) -> None:
    from longshore.cli.progress import training
    from longshore.training.run.engine import make_engine
    from longshore.training.run.loop import Watchers
    from longshore.training.search.sweep import sweep, train_best

    note("searching " + "; ".join(f"{one.name}: {one.describe()}" for one in space.domains))
    running = make_engine(**where)  # type: ignore[arg-type]
    try:
        swept = sweep(
            space,
            out,
            trials=trials,
            seed=space.base.seed,
            engine=running,
            device=device,
            tell=lambda trial, done, total: note(trial_line(trial, done, total)),
        )
    except KeyboardInterrupt:
        note(f"stopped; the same command goes on with the sweep in `{out}`")
        raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
    finally:
        running.close()
    if has_bundle:
        with training() as (progress, tell):
            train_best(swept, device=device, watchers=Watchers(progress, tell))
    emit(json_mode, _payload(swept), lambda: _render(swept))


def trial_line(trial: "Trial", done: int, total: int) -> str:
    """Say how a trial ended, in a line."""
    how = {"complete": "", "pruned": " (ended early)", "failed": f" failed: {trial.error}"}.get(trial.state, "")
    earned = "" if trial.selection_return is None else f" return {trial.selection_return:.6g}"
    return f"[{done}/{total}] trial {trial.number}:{earned}{how}; {_values(trial)}"


def _payload(swept: "Swept") -> dict[str, object]:
    return {
        "out": str(swept.out),
        "best": swept.best._asdict(),
        "plan": swept.plan.to_json(),
        "importances": swept.importances,
        "trials": [trial._asdict() for trial in swept.trials],
    }


def _render(swept: "Swept") -> None:
    from longshore.training.search.sweep import BEST_FOLDER, BEST_PLAN_FILE

    plan = swept.plan
    note(f"\n{plan.learner}, {plan.objective} on {plan.workload}: the best trials by the selection traces\n")
    rows = [
        (
            str(trial.number),
            trial.state,
            "" if trial.selection_return is None else f"{trial.selection_return:.6g}",
            "" if trial.worth is None else f"{trial.worth:.5g}",
            _values(trial),
        )
        for trial in swept.trials[:_MOST_ROWS]
    ]
    write_table(("trial", "state", "return", "worth", "hyperparameters"), rows)
    if swept.importances:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(swept.importances.items())[:5])
        note(f"\nwhat made the difference: {shares}")
    note(f"\nthe best plan is in `{swept.out / BEST_PLAN_FILE}`")
    if (swept.out / BEST_FOLDER).is_dir():
        best = swept.out / BEST_FOLDER
        note(f"its policy is in `{best}`; on traces that it was not selected on: `longshore evaluate {best}`")


def _values(trial: "Trial") -> str:
    parts = (
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.hyperparameters.items()
    )
    return " ".join(parts)
