"""`longshore sweep`: search a learner's hyperparameters, and train the best of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.agents import LEARNERS
from longshore.cli.compare import NodesOption
from longshore.cli.files import check_folder
from longshore.cli.flags import DeviceOption, EngineOption, PresetOption, RayAddressOption, make_plan, with_flags
from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore.training.run.engine import Engine
    from longshore.training.search.space import Space
    from longshore.training.search.sweep import Swept, Trial

INTERRUPTED_EXIT_CODE = 130
_MOST_ROWS = 10


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="sweep")(with_flags(sweep_command))


def sweep_command(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help=", ".join(LEARNERS.table) + ".")],
    trials: Annotated[int, typer.Option(help="Trainings in all, those of earlier calls counted.", min=1)] = 20,
    nodes: NodesOption = None,
    search: Annotated[
        list[str] | None,
        typer.Option(help="Search between these: `learning_rate=1e-4:1e-2`, `batch=64,256`, `network.width=16:64`."),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option(help="Do not search this: `batch=256`.")] = None,
    only: Annotated[bool, typer.Option("--only", help="Search nothing but what --search names.")] = False,
    preset: PresetOption = "default",
    out: Annotated[Path, typer.Option(help="The sweep's folder; one that was stopped goes on.")] = Path("runs/sweep"),
    engine: EngineOption = "local",
    jobs: Annotated[
        int | None, typer.Option(help="Trials at once: one here, as many as fit on Ray, by default.", min=1)
    ] = None,
    ray_address: RayAddressOption = "auto",
    device: DeviceOption = None,
    bundle: Annotated[bool, typer.Option(help="Train the best into a bundle.")] = True,
    json_mode: JsonOption = False,
    **flags: Any,
) -> None:
    """Search a learner's hyperparameters (Optuna), judged by the selection traces; then train the best."""
    check_folder(out, "--out")
    plan = make_plan(learner, preset, nodes, flags)
    from longshore.cli.progress import training
    from longshore.training.run.engine import make_engine
    from longshore.training.run.loop import Watchers
    from longshore.training.search.space import make_space
    from longshore.training.search.sweep import train_best

    space = make_space(plan, search or (), fix or (), has_only_searched=only)
    note("searching " + "; ".join(f"{one.name}: {one.describe()}" for one in space.domains))
    gpus_per_job = 1.0 if device == "gpu" else 0.0
    running = make_engine(engine, jobs=jobs, address=ray_address, gpus_per_job=gpus_per_job)
    try:
        swept = _search(space, out, trials, running, device)
    finally:
        running.close()
    if bundle:
        with training() as (progress, tell):
            train_best(swept, device=device, watchers=Watchers(progress, tell))
    emit(json_mode, _payload(swept), lambda: _render(swept))


def _search(space: "Space", out: Path, trials: int, engine: "Engine", device: str | None) -> "Swept":
    from longshore.training.search.sweep import sweep

    def tell(trial: "Trial", done: int, total: int) -> None:
        note(trial_line(trial, done, total))

    try:
        return sweep(space, out, trials=trials, seed=space.base.seed, engine=engine, device=device, tell=tell)
    except KeyboardInterrupt:
        note(f"stopped; the same command goes on with the sweep in `{out}`")
        raise typer.Exit(INTERRUPTED_EXIT_CODE) from None


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
