"""Flags that are made from fields: of `Plan`, for every command that trains, and of learners and networks.

The fields are read from the source (`cli.hyperparameters`), so that a help text waits for nothing. A flag that is not
given says nothing: the field's own default holds.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.compare import parse_parameters
from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import read_objective
from longshore.cli.hyperparameters import Hyperparameter, fields_of, hyperparameters

if TYPE_CHECKING:
    from longshore.training.run.plan import Plan

_LEARNER, _NETWORK = "learner__", "network__"
_TYPES: Mapping[str, Any] = {"int": int, "float": float, "bool": bool, "Mapping[str, Any]": list[str]}

PresetOption = Annotated[str, typer.Option(help="Named hyperparameters: `longshore list presets`.")]
DeviceOption = Annotated[
    str | None, typer.Option(help="Where to train: cpu or gpu. By default a GPU that JAX can use, else the CPU.")
]
EngineOption = Annotated[
    str, typer.Option(help="local, or ray: seeds, trials or variants of a population on a Ray cluster's workers.")
]
RayAddressOption = Annotated[str, typer.Option(help="The Ray cluster; auto = this machine's.")]


def plan_flags() -> dict[str, Hyperparameter]:
    """Return the fields of a plan that are flags."""
    fields = fields_of("longshore.training.run.plan", "Plan")
    return {name: one for name, one in fields.items() if one.words is not None}


def unit_flags(learner: str, network: str) -> list[inspect.Parameter]:
    """Return the hyperparameters of a learner and of a network as flags."""
    own = [_parameter(one, _LEARNER, "") for one in hyperparameters(LEARNERS, learner)]
    return own + [_parameter(one, _NETWORK, "network-") for one in hyperparameters(NETWORKS, network)]


def with_flags(
    function: Callable[..., None], own: Iterable[inspect.Parameter] = (), **fixed: Any
) -> Callable[..., None]:
    """Return a command with flags in the place of a function's `**flags`: `own`, then those of a plan.

    What is `fixed` is no flag of the command, and given to the function as it is.
    """

    def command(**given: Any) -> None:
        function(**fixed, **given)

    known = inspect.signature(function).parameters.values()
    told = [one for one in known if one.kind is not one.VAR_KEYWORD and one.name not in fixed]
    arguments = [one for one in told if one.default is one.empty]
    plans = [_parameter(one, "", "") for one in plan_flags().values()]
    signature = inspect.Signature([*arguments, *own, *plans, *(one for one in told if one not in arguments)])
    command.__doc__ = function.__doc__
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return command


def make_plan(learner: str, preset: str, nodes: int | None, flags: Mapping[str, Any]) -> "Plan":
    """Return what the command line asks for; flags go before the preset's values.

    Raises:
        InputError: a name that is in no table, or a parameter that the workload does not have.
    """
    keep_compiled_programs()
    from longshore.training.run.plan import Plan
    from longshore.training.run.presets import find_preset
    from longshore.workloads.build import build_workload

    LEARNERS.target(learner)
    chosen = find_preset(preset, learner)
    given = {name: value for name, value in flags.items() if value is not None}
    own, sizes = (
        {name.removeprefix(by): given.pop(name) for name in [*given] if name.startswith(by)}
        for by in (_LEARNER, _NETWORK)
    )
    network = given.pop("network", chosen.network or Plan.network)
    NETWORKS.target(network)
    if network == chosen.network:
        sizes = {**(chosen.network_config or {}), **sizes}
    if "objective" in given:
        given["objective"] = read_objective(given["objective"])
    parameters = parse_parameters(given.pop("workload_config", None)) | ({} if nodes is None else {"nodes": nodes})
    built = build_workload(given.get("workload", Plan.workload), parameters)
    return Plan(
        learner=learner,
        network=network,
        learner_config={**chosen.learners.get(learner, {}), **own},
        network_config=sizes,
        workload_config={name: getattr(built, name) for name in parameters},  # as numbers, not as text
        **given,
    )


def _parameter(one: Hyperparameter, prefix: str, flag_prefix: str) -> inspect.Parameter:
    kind: Any = _TYPES.get(one.kind, str)
    words = one.words or {}
    flag = flag_prefix + (words.get("name") or one.flag)
    names = f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}"
    shown = f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
    text = one.help if one.default in ("", None) else f"{one.help} [default: {shown}]"
    option = typer.Option(names, help=text, show_default=False, min=words.get("least"), metavar=words.get("metavar"))
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(
        prefix + one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation
    )
