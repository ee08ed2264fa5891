"""`longshore train` and `longshore tensorboard`: one command from an objective to a policy.

Each learner is a subcommand whose flags are its hyperparameters, those of the network that was named, and what every
training has: the fields of `Plan`. They are read from the source (`cli.flags`) when the command is asked for.
"""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.compare import NodesOption
from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import check_folder
from longshore.cli.flags import (
    DeviceOption,
    EngineOption,
    PresetOption,
    RayAddressOption,
    make_plan,
    plan_flags,
    unit_flags,
    with_flags,
)
from longshore.cli.groups import Group
from longshore.cli.hyperparameters import first_line
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.cli.progress import stages
from longshore.core.words.errors import ComponentMissingError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longshore.training.run.logs import OpenSink
    from longshore.training.run.loop import TrainingResult
    from longshore.training.run.plan import Plan

INTERRUPTED_EXIT_CODE = 130
_TENSORBOARD = "tensorboard"

TensorBoardOption = Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard too.")]
WandbOption = Annotated[str | None, typer.Option(metavar="PROJECT", help="Log to Weights & Biases too.")]
MlflowOption = Annotated[str | None, typer.Option(metavar="URI", help="Log to MLflow too.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(
        cls=TrainGroup,
        invoke_without_command=True,
        subcommand_metavar="LEARNER [OPTIONS]",
        help="Train a policy. `longshore train LEARNER --help` lists every hyperparameter.",
        rich_markup_mode=None,
    )
    group.callback()(resume_run)
    app.add_typer(group, name="train")
    app.command(name=_TENSORBOARD)(tensorboard)


class TrainGroup(Group):
    """The learners as commands, each built when it is asked for."""

    _named_network: str | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the learners' names."""
        return list(LEARNERS.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a learner's command."""
        LEARNERS.target(cmd_name)  # refuses one that there is not
        return build_command(cmd_name, self._named_network or plan_flags()["network"].default)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Look which network is named: its hyperparameters are flags too."""
        self._named_network = _named_network(args)
        return super().resolve_command(ctx, args)


def build_command(learner: str, network: str) -> Any:
    """Return the command of a learner, with the flags of a network."""
    described = first_line(LEARNERS, learner)
    help_text = f"{described} With the flags of the network `{network}`; name another to see its own."
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings = {"help_option_names": ["-h", "--help"]}
    command = with_flags(start, unit_flags(learner, network), learner=learner)
    app.command(name=learner, help=help_text, short_help=described, context_settings=settings)(command)
    return typer.main.get_command(app)


def resume_run(
    context: typer.Context,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Go on with the run in this folder.")] = None,
    device: DeviceOption = None,
    tensorboard: TensorBoardOption = False,
    wandb: WandbOption = None,
    mlflow: MlflowOption = None,
    json_mode: JsonOption = False,
) -> None:
    """Go on with a run that was stopped, by its own plan; or show what can be trained."""
    if context.invoked_subcommand is not None:
        if resume is not None:
            raise InputError("got `--resume DIR` and a learner", "a run goes on by its own plan: leave the learner out")
        return
    if resume is None:
        print(context.get_help())
        raise typer.Exit
    keep_compiled_programs()
    from longshore.training.run.loop import stored_plan

    plan = stored_plan(resume)
    sinks = _sinks(tensorboard, wandb, mlflow)
    _train(plan, resume, resume=True, overwrite=False, device=device, sinks=sinks, json_mode=json_mode)


def start(
    learner: str,
    nodes: NodesOption = None,
    preset: PresetOption = "default",
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; by default runs/WORKLOAD-OBJECTIVE-LEARNER.")
    ] = None,
    device: DeviceOption = None,
    tensorboard: TensorBoardOption = False,
    wandb: WandbOption = None,
    mlflow: MlflowOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin again where a run was stopped.")] = False,
    engine: EngineOption = "local",
    ray_address: RayAddressOption = "auto",
    json_mode: JsonOption = False,
    **flags: Any,
) -> None:
    """Train one learner."""
    plan = make_plan(learner, preset, nodes, flags)
    folder = out or Path("runs") / "-".join(_word(part) for part in (plan.workload, plan.objective, learner))
    check_folder(folder, "--out")
    if engine == "local":
        sinks = _sinks(tensorboard, wandb, mlflow)
        _train(plan, folder, resume=resume, overwrite=overwrite, device=device, sinks=sinks, json_mode=json_mode)
        return
    if resume:
        raise InputError(f"got `--resume` and `--engine {engine}`", "runs on an engine have no checkpoint: begin again")
    found = _train_on_engine(plan, folder, engine, ray_address, overwrite=overwrite, device=device)
    emit(json_mode, _payload(found), lambda: _render(found))


def tensorboard(
    folder: Annotated[Path, typer.Argument(help="A run's folder, or one that holds several.")] = Path("runs"),
    port: Annotated[int, typer.Option(help="The port to serve on.", min=1, max=65535)] = 6006,
) -> None:
    """Serve the logs of trainings that were started with --tensorboard."""
    import importlib.util

    if not any(folder.rglob("events.out.tfevents.*")):
        raise InputError(f"there are no TensorBoard logs in `{folder}`", "train with `--tensorboard` first")
    if importlib.util.find_spec(_TENSORBOARD) is None:
        raise ComponentMissingError(_TENSORBOARD, "pip install tensorboard")
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--port", str(port)]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _train_on_engine(
    plan: "Plan", out: Path, name: str, address: str, *, overwrite: bool, device: str | None
) -> "TrainingResult":
    """Train on other workers than this process."""
    from longshore.training.run.engine import make_engine
    from longshore.training.run.jobs import train_on_engine

    engine = make_engine(name, address=address)
    try:
        with stages() as tell:

            def watch(seed: int, chunk: int, _worth: float) -> bool:
                tell(f"seed {plan.seed + seed}", chunk, plan.evaluations)
                return False

            return train_on_engine(plan, out, engine, overwrite=overwrite, device=device, watch=watch)
    finally:
        engine.close()


def _train(
    plan: "Plan",
    out: Path,
    *,
    resume: bool,
    overwrite: bool,
    device: str | None,
    sinks: "Sequence[OpenSink]",
    json_mode: bool,
) -> None:
    from longshore.cli.progress import training
    from longshore.training.run.loop import Watchers, train

    with training() as (progress, tell):
        watchers = Watchers(progress, tell)
        found = train(plan, out, resume=resume, overwrite=overwrite, device=device, sinks=sinks, watchers=watchers)
    emit(json_mode, _payload(found), lambda: _render(found))
    if found.bundle is None:
        note(f"stopped after {found.decided} decisions; go on with `longshore train --resume {out}`")
        raise typer.Exit(INTERRUPTED_EXIT_CODE)


def _payload(found: "TrainingResult") -> dict[str, object]:
    return {
        "out": str(found.out),
        "is_finished": found.bundle is not None,
        "plan": found.plan.to_json(),
        "returns": [_number(value) for value in found.returns],
        "baselines": dict(found.baselines),
        "decisions": found.decided,
        "seconds": round(found.seconds, 3),
    }


def _render(found: "TrainingResult") -> None:
    plan = found.plan
    has_own_network = LEARNERS.find(plan.learner).has_own_network
    what = plan.learner if has_own_network else f"{plan.learner} with {plan.network}"
    note(
        f"\n{what}, {plan.objective} on {plan.workload}: {found.decided} decisions in {found.seconds:.0f} s; "
        "mean return on the selection traces\n"
    )
    rows = [(str(found.out), found.best_return), *found.baselines.items()]
    rows.sort(key=lambda row: -row[1])
    write_table(("policy", "return"), [(name, f"{value:.6g}") for name, value in rows])
    note(f"\nit chooses behind the filters {plan.filters}, the plain policies behind upstream's")
    if plan.dial:
        note("\nof a policy with a dial: the mean over its settings, each by the objective's own weights")
    if len(found.returns) > 1:
        note(f"\nthe {len(found.returns)} trainings: " + ", ".join(f"{value:.6g}" for value in found.returns))
    if found.bundle is not None:
        note(
            f"\nthe policy is in `{found.out}`; on traces that it was not selected on: `longshore evaluate {found.out}`"
        )


def _sinks(tensorboard: bool, wandb: str | None, mlflow: str | None) -> "list[OpenSink]":
    from longshore.training.run import logs

    found: list[OpenSink] = [logs.TensorBoard] if tensorboard else []
    found += [logs.weights_and_biases(wandb)] if wandb else []
    found += [logs.mlflow(mlflow)] if mlflow else []
    return found


def _named_network(arguments: list[str]) -> str | None:
    """Find which network the command line names, by itself or by its preset."""
    from longshore.training.run.presets import PRESETS

    found: dict[str, str] = {}
    for number, text in enumerate(arguments):
        name, separator, value = text.partition("=")
        if name in ("--network", "--preset"):
            following = arguments[number + 1] if number + 1 < len(arguments) else ""
            found[name] = value if separator else following
    preset = PRESETS.get(found.get("--preset", ""))
    network = found.get("--network") or (preset.network if preset else "")
    return network if network in NETWORKS else None


def _word(text: str) -> str:
    """Make a part of a file name of what may be a weighted sum or YAML."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in text)[:40]


def _number(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
