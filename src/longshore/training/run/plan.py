"""What to train, completely: from a plan and its seed the same policy comes out again, to the last bit on one machine.

A plan is plain data: it is what a checkpoint and a bundle record, and what `--resume` reads.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from longshore.agents import LEARNERS, NETWORKS
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.core.words.registry import Registry

# Traces of one purpose never serve another. Reports use seeds from 0.
TRAINING_SEED, SELECTION_SEED = 1_000_000, 2_000_000


@dataclass(frozen=True)
class Plan:
    """Everything that training depends on."""

    learner: str = "ppo"
    """A name of `agents.LEARNERS`."""
    network: str = "deepsets"
    """A name of `agents.NETWORKS`."""
    learner_config: Mapping[str, Any] = field(default_factory=dict)
    """Hyperparameters that differ from the learner's own."""
    network_config: Mapping[str, Any] = field(default_factory=dict)
    """Hyperparameters that differ from the network's own."""
    objective: str = "el-rl"
    """As `objectives.weighted.parse_objective` reads it."""
    workload: str = "test1"
    """A name of `workloads.REGISTRY`."""
    workload_config: Mapping[str, Any] = field(default_factory=dict)
    """The workload's parameters."""
    seed: int = 0
    """Of all that is drawn in training."""
    seeds: int = 1
    """Trainings at once, in one program, with seeds that follow `seed`; the best by the selection traces is kept."""
    traces: int = 24
    """Traces to train on."""
    selection_traces: int = 12
    """Traces by which the best policy of the training is selected."""
    evaluations: int = 20
    """How often in the training the policy is judged on the selection traces."""
    lag_seconds: float = 0.0
    """How old latency readings can be."""
    filters: str = "upstream+latency"
    """Filter set behind which the policy chooses."""
    features: tuple[str, ...] = ()
    """What the policy is told; empty = whatever varies in the training traces."""
    prior: str = ""
    """A heuristic that the policy corrects (hybrid); empty = none."""
    guide: str = ""
    """A heuristic, `optimum`, or a file of decisions, that learners which take one follow; empty = none."""
    guide_sha256: str = ""
    """Of the guide's file when the run was begun (`guides.pinned`); with another file it is another plan."""
    dial: bool = False
    """Train for all weights of the objective's terms; they are given at run time."""
    limit: str = ""
    """A limit to keep before anything else, for instance `p99_latency_ms<=25`; empty = none."""

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
        InputError: a value of the wrong type.
    """
    factory = registry.load(name)
    known = [one.name for one in dataclasses.fields(factory)]
    for key in config:
        if key not in known:
            raise UnknownNameError(f"hyperparameter of {registry.kind} `{name}`", key, known)
    try:
        built = msgspec.convert(dict(config), factory, strict=False)
    except msgspec.ValidationError as error:
        described = ", ".join(f"`{one.name}` (default {one.default!r})" for one in dataclasses.fields(factory))
        raise InputError(f"{registry.kind} `{name}`: {error}", f"its hyperparameters: {described}") from error
    _check_ranges(registry, name, built)
    return built


# Hyperparameters that may be 0, or not below 2; every other whole number is 1 or more.
_LEAST = {"prefill": 0, "learning_starts": 0, "population": 2}
_SHARES = (
    "discount",
    "trace_decay",
    "exploration",
    "exploration_start",
    "exploration_end",
    "guide_share",
    "clone_share",
)


def _check_ranges(registry: Registry, name: str, built: Any) -> None:
    """Refuse numbers with which nothing could be learnt; without this they end in a traceback or in silence."""
    for one in dataclasses.fields(built):
        value = getattr(built, one.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = _LEAST.get(one.name, 1) if isinstance(one.default, int) else 0
        most = 1.0 if one.name in _SHARES else math.inf
        if not least <= value <= most or not math.isfinite(value):
            expected = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
            raise InputError(
                f"{registry.kind} `{name}`: got {one.name} `{value}`, expected {expected}",
                f"the default is {one.default!r}",
            )


def read_plan(found: Mapping[str, Any]) -> Plan:
    """Read a plan from plain values.

    Raises:
        InputError: not a plan.
    """
    try:
        return msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise InputError(f"this is no training plan: {error}", "use the file that `longshore train` wrote") from error
