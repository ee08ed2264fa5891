"""`longshore train` and `longshore tensorboard`: one command from an objective to a policy.

Each learner is a subcommand whose flags are its hyperparameters, those of the network that was named, and what every
training has. They are read from the source (`cli.hyperparameters`) when the command is asked for.
"""

import inspect
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.hyperparameters import Hyperparameter, first_line, hyperparameters
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.cli.progress import stages
from longshore.core.words.errors import ComponentMissingError, InputError, UnknownNameError

if TYPE_CHECKING:
    from longshore.training.run.logs import OpenSink
    from longshore.training.run.loop import TrainingResult
    from longshore.training.run.plan import Plan

DEFAULT_NETWORK = "deepsets"
INTERRUPTED_EXIT_CODE = 130
_LEARNER, _NETWORK = "learner__", "network__"
_TYPES: dict[str, Any] = {"int": int, "float": float, "bool": bool}
_TENSORBOARD = "tensorboard"

DeviceOption = Annotated[
    str | None, typer.Option(help="Where to train: cpu or gpu. By default a GPU that JAX can use, else the CPU.")
]
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


class TrainGroup(TyperGroup):
    """The learners as commands, each built when it is asked for."""

    _named_network: str | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the learners' names."""
        return list(LEARNERS.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a learner's command."""
        if cmd_name not in LEARNERS.names():
            raise UnknownNameError("learner", cmd_name, LEARNERS.names())
        return build_command(cmd_name, self._named_network or DEFAULT_NETWORK)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Look which network is named: its hyperparameters are flags too."""
        self._named_network = _named_network(args)
        return super().resolve_command(ctx, args)


def build_command(learner: str, network: str) -> Any:
    """Return the command of a learner, with the flags of a network."""

    def command(**given: Any) -> None:
        own = {key: given.pop(key) for key in list(given) if key.startswith((_LEARNER, _NETWORK))}
        start(learner, _given(own, _LEARNER), _given(own, _NETWORK), given)

    shared = inspect.signature(shared_options).parameters.values()
    own = [_parameter(one, _LEARNER, "") for one in hyperparameters(LEARNERS, learner)]
    own += [_parameter(one, _NETWORK, "network-") for one in hyperparameters(NETWORKS, network)]
    signature = inspect.Signature([*own, *shared])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    help_text = (
        f"{first_line(LEARNERS, learner)} With the flags of the network `{network}`; name another to see its own."
    )
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(name=learner, help=help_text, short_help=first_line(LEARNERS, learner), context_settings=settings)(
        command
    )
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
    _prepare_jax()
    from longshore.training.run.loop import stored_plan

    plan = stored_plan(resume)
    sinks = _sinks(tensorboard, wandb, mlflow)
    _train(plan, resume, resume=True, overwrite=False, device=device, sinks=sinks, json_mode=json_mode)


def shared_options(
    network: Annotated[str, typer.Option(help="The network: " + ", ".join(NETWORKS.table) + ".")] = DEFAULT_NETWORK,
    objective: Annotated[str, typer.Option(help="Objective: a name, `name=weight,…` or YAML.")] = "el-rl",
    workload: Annotated[str, typer.Option(help="A workload's name (`longshore list workloads`).")] = "test1",
    nodes: Annotated[int | None, typer.Option(help="Nodes of the workload; its own by default.", min=1)] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the workload, `name=value`.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn in training.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Trainings at once; the best of them is kept.", min=1)] = 1,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; by default runs/WORKLOAD-OBJECTIVE-LEARNER.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Named hyperparameters: `longshore list presets`.")] = "default",
    prior: Annotated[str, typer.Option(metavar="POLICY", help="Correct this heuristic (hybrid).")] = "",
    guide: Annotated[str, typer.Option(metavar="POLICY|optimum|FILE", help="Cloned, or explored by.")] = "",
    dial: Annotated[bool, typer.Option("--dial", help="Train for all weights of the terms; give them later.")] = False,
    limit: Annotated[str, typer.Option(help="To be kept before anything else: `p99_latency_ms<=25`.")] = "",
    lag: Annotated[float, typer.Option(help="How old latency readings can be, seconds.", min=0)] = 0.0,
    filters: Annotated[str, typer.Option(help="The filter set that it chooses behind.")] = "upstream+latency",
    training_traces: Annotated[int, typer.Option(help="Traces to train on.", min=1)] = 24,
    selection_traces: Annotated[int, typer.Option(help="Traces by which the best policy is selected.", min=1)] = 12,
    evaluations: Annotated[int, typer.Option(help="How often the policy is judged on them.", min=1)] = 20,
    device: DeviceOption = None,
    tensorboard: TensorBoardOption = False,
    wandb: WandbOption = None,
    mlflow: MlflowOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin again where a run was stopped.")] = False,
    engine: Annotated[
        str, typer.Option(help="local, or ray: seeds (of populations, the variants) on a Ray cluster's workers.")
    ] = "local",
    ray_address: Annotated[str, typer.Option(help="The Ray cluster; auto = this machine's.")] = "auto",
    json_mode: JsonOption = False,
) -> None:
    """Hold the options that every learner's command has; `start` is given their values."""


def start(
    learner: str, learner_config: dict[str, Any], network_config: dict[str, Any], options: Mapping[str, Any]
) -> None:
    """Train one learner; `options` are those of `shared_options` by name."""
    from longshore.cli.compare import parse_parameters
    from longshore.training.run.presets import find_preset
    from longshore.workloads.build import build_workload

    chosen = find_preset(options["preset"], learner)
    network, network_config = _with_preset(chosen, options["network"], network_config)
    given = parse_parameters(options["parameters"])
    given |= {} if options["nodes"] is None else {"nodes": options["nodes"]}
    built = build_workload(options["workload"], given)
    _prepare_jax()
    from longshore.training.run.plan import Plan

    same = ("objective", "workload", "seed", "seeds", "selection_traces", "evaluations", "filters")
    plan = Plan(
        learner=learner,
        network=network,
        learner_config={**chosen.learners.get(learner, {}), **learner_config},
        network_config=network_config,
        workload_config={name: getattr(built, name) for name in given},  # as numbers, not as text
        traces=options["training_traces"],
        lag_seconds=options["lag"],
        **{name: options[name] for name in (*same, "prior", "guide", "dial", "limit")},
    )
    if options["engine"] != "local":
        _train_on_engine(plan, options)
        return
    folder = _folder(plan, options)
    _train(
        plan,
        folder,
        resume=options["resume"],
        overwrite=options["overwrite"],
        device=options["device"],
        sinks=_sinks(options["tensorboard"], options["wandb"], options["mlflow"]),
        json_mode=options["json_mode"],
    )


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


def _folder(plan: "Plan", options: Mapping[str, Any]) -> Path:
    parts = (plan.workload, plan.objective, plan.learner)
    given: Path | None = options["out"]
    return given or Path("runs") / "-".join(_word(part) for part in parts)


def _train_on_engine(plan: "Plan", options: Mapping[str, Any]) -> None:
    """Train on other workers than this process."""
    from longshore.training.run.engine import make_engine
    from longshore.training.run.jobs import train_on_engine

    if options["resume"]:
        raise InputError(
            f"got `--resume` and `--engine {options['engine']}`", "runs on an engine have no checkpoint: begin again"
        )
    engine = make_engine(options["engine"], address=options["ray_address"])
    try:
        with stages() as tell:

            def watch(seed: int, chunk: int, _worth: float) -> bool:
                tell(f"seed {plan.seed + seed}", chunk, plan.evaluations)
                return False

            found = train_on_engine(
                plan,
                _folder(plan, options),
                engine,
                overwrite=options["overwrite"],
                device=options["device"],
                watch=watch,
            )
    finally:
        engine.close()
    emit(options["json_mode"], _payload(found), lambda: _render(found))


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
    what = f"{plan.learner} with {plan.network}" if "network" in _reads(plan) else plan.learner
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


def _reads(plan: "Plan") -> tuple[str, ...]:
    """Say what of a plan its learner uses: a table is its own network."""
    return () if hasattr(LEARNERS.load(plan.learner), "build") else ("network",)


def _prepare_jax() -> None:
    from longshore.cli.compilation import keep_compiled_programs

    keep_compiled_programs()


def _sinks(tensorboard: bool, wandb: str | None, mlflow: str | None) -> "list[OpenSink]":
    from longshore.training.run import logs

    found: list[OpenSink] = [logs.TensorBoard] if tensorboard else []
    found += [logs.weights_and_biases(wandb)] if wandb else []
    found += [logs.mlflow(mlflow)] if mlflow else []
    return found


def _with_preset(preset: Any, network: str, config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Take the preset's network where none was named, and its sizes where none were given."""
    if network not in NETWORKS.names():
        raise UnknownNameError("network", network, NETWORKS.names())
    if preset.network and network == DEFAULT_NETWORK:
        network = preset.network
    sizes = dict(preset.network_config or {}) if network == preset.network else {}
    return network, {**sizes, **config}


def _parameter(one: Hyperparameter, prefix: str, flag_prefix: str) -> inspect.Parameter:
    kind: Any = _TYPES.get(one.kind, str)
    flag = f"--{flag_prefix}{one.flag}"
    names = (f"{flag}/--no-{flag_prefix}{one.flag}",) if kind is bool else (flag,)
    shown = f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
    option = typer.Option(*names, help=f"{one.help} [default: {shown}]", show_default=False)
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(
        prefix + one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation
    )


def _given(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix) and value is not None}


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
    return network if network in NETWORKS.names() else None


def _word(text: str) -> str:
    """Make a part of a file name of what may be a weighted sum or YAML."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in text)[:40]


def _number(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
