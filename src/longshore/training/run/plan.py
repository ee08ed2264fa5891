"""What to train, completely: from a plan and its seed the same policy comes out again, to the last bit on one machine.

A plan is plain data: it is what a checkpoint and a bundle record, and what `--resume` reads.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import msgspec

from longshore.agents import LEARNERS, NETWORKS
from longshore.agents.ranges import declared
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.core.words.registry import Registry

# Traces of one purpose never serve another. Reports use seeds from 0.
TRAINING_SEED, SELECTION_SEED = 1_000_000, 2_000_000


class Flag(NamedTuple):
    """How a field is given on the command line; one without a flag is not given there by itself."""

    name: str = ""
    """Without the dashes; empty = as the field is called."""
    metavar: str | None = None
    """What stands for the value in the help; None = its type."""
    least: float | None = None
    """The smallest number that makes sense."""


@dataclass(frozen=True)
class Plan:
    """Everything that training depends on. Flags, their help and the reference page are made from these fields."""

    learner: str = "ppo"
    """The learner (`longshore list learners`)."""
    network: Annotated[str, Flag()] = "deepsets"
    """The network (`longshore list networks`)."""
    learner_config: Mapping[str, Any] = field(default_factory=dict)
    """Hyperparameters that differ from the learner's own."""
    network_config: Mapping[str, Any] = field(default_factory=dict)
    """Hyperparameters that differ from the network's own."""
    objective: Annotated[str, Flag()] = "el-rl"
    """Objective: a name, `name=weight,…` or YAML."""
    workload: Annotated[str, Flag()] = "test1"
    """A workload's name (`longshore list workloads`)."""
    workload_config: Annotated[Mapping[str, Any], Flag(name="set", metavar="NAME=VALUE")] = field(default_factory=dict)
    """A parameter of the workload."""
    seed: Annotated[int, Flag(least=0)] = 0
    """Of all that is drawn in training, and of what a sweep draws."""
    seeds: Annotated[int, Flag(least=1)] = 1
    """Trainings at once, with seeds that follow `seed`; the best is kept, a sweep goes by their mean."""
    traces: Annotated[int, Flag(name="training-traces", least=1)] = 24
    """Traces to train on."""
    selection_traces: Annotated[int, Flag(least=1)] = 12
    """Traces by which the best policy of the training, and of a sweep, is selected."""
    evaluations: Annotated[int, Flag(least=1)] = 20
    """How often in the training the policy is judged on the selection traces."""
    lag_seconds: Annotated[float, Flag(name="lag", least=0)] = 0.0
    """How old latency readings can be, seconds."""
    filters: Annotated[str, Flag()] = "upstream+latency"
    """The filter set behind which the policy chooses."""
    features: tuple[str, ...] = ()
    """What the policy is told; empty = whatever varies in the training traces."""
    prior: Annotated[str, Flag(metavar="POLICY")] = ""
    """Correct this heuristic (hybrid)."""
    guide: Annotated[str, Flag(metavar="POLICY|optimum|FILE")] = ""
    """Cloned, or explored by: a heuristic, the optimum, or a file of decisions."""
    guide_sha256: str = ""
    """Of the guide's file when the run was begun (`guides.pinned`); with another file it is another plan."""
    dial: Annotated[bool, Flag()] = False
    """Train for all weights of the objective's terms; they are given at run time."""
    limit: Annotated[str, Flag()] = ""
    """To be kept before anything else: `p99_latency_ms<=25`."""

    def build_learner(self) -> Any:
        """Return the learner with its hyperparameters."""
        return build(LEARNERS, self.learner, self.learner_config)

    def build_network(self) -> Any:
        """Return the network with its hyperparameters."""
        return build(NETWORKS, self.network, self.network_config)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def build(registry: Registry, name: str, config: Mapping[str, Any]) -> Any:
    """Make a learner or a network; values may be text, as a command line gives them.

    Raises:
        UnknownNameError: no such name or hyperparameter.
        InputError: a value of the wrong type, or out of its range.
    """
    factory = registry.find(name)
    known = declared(factory)
    for key in config:
        if key not in known:
            raise UnknownNameError(f"hyperparameter of {registry.kind} `{name}`", key, known)
    try:
        built = msgspec.convert(dict(config), factory, strict=False)
    except msgspec.ValidationError as error:
        described = ", ".join(f"`{key}` (default {one.default!r})" for key, one in known.items())
        raise InputError(f"{registry.kind} `{name}`: {error}", f"its hyperparameters: {described}") from error
    for key, one in known.items():
        # With numbers beyond these nothing could be learnt; they would end in a traceback, or in silence.
        value = getattr(built, key)
        if one.range is not None and (not one.range.least <= value <= one.range.most or not math.isfinite(value)):
            raise InputError(
                f"{registry.kind} `{name}`: got {key} `{value}`, expected {one.range}",
                f"the default is {one.default!r}",
            )
    return built


def read_plan(found: Mapping[str, Any]) -> Plan:
    """Read a plan from plain values.

    Raises:
        InputError: not a plan.
    """
    try:
        return msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise InputError(f"this is no training plan: {error}", "use the file that `longshore train` wrote") from error
