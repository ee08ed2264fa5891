"""What a learner is, and the experience that it learns from.

Experience is a segment: `steps` steps of `envs` environments at once, every array [steps, envs, ...]. A step is any
event of the simulator; only those with `is_decision` teach, the others are passed over. Learners are frozen dataclasses
whose fields are their hyperparameters (`agents.ranges` says what these may be), and inherit from `Learner` or
`Population`: what is special about one it says there. They are pure: state and experience in, state and figures out.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax

from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Inputs

LearnerState = Any
"""A tree of arrays; every learner has its own."""

Figures = Mapping[str, Array]
"""What is logged of an update: scalars by name."""


class Seen(NamedTuple):
    """What a learner is told when it has to act: every array [envs, ...]."""

    inputs: Inputs
    feasible: Array  # [envs, nodes] bool
    is_decision: Array  # [envs] bool; a pod is to be placed and may go somewhere
    guide: Array  # [envs] int32; where the guide would place it, -1 = no guide


class Segment(NamedTuple):
    """A stretch of experience: every array [steps, envs, ...]."""

    seen: Seen
    action: Array  # int32; the node, -1 = deferred
    reward: Array  # float32, normalised
    is_over: Array  # bool; the episode ended with this step
    extra: Mapping[str, Array]  # what `act` gave beside the action


def flattened(tree: Any) -> Any:
    """Lay steps and environments side by side: [steps, envs, ...] -> [steps · envs, ...]."""
    return jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[0] * leaf.shape[1], *leaf.shape[2:]), tree)


class Capabilities(Protocol):
    """What a learner says of itself; what is written here holds for one that says nothing."""

    takes_guide: ClassVar[bool] = False
    """It follows a guide where there is one."""
    needs_guide: ClassVar[bool] = False
    """Without a guide there is nothing to learn."""
    has_own_network: ClassVar[bool] = False
    """It is its own network, and inherits from `Network` too; it takes neither a prior nor a dial."""

    @property
    def features(self) -> tuple[str, ...]:
        """The only features that it reads; empty = whatever varies in the training traces."""
        return ()

    @property
    def may_defer(self) -> bool:
        """Say whether it may leave a pod waiting."""
        return False

    def check(self) -> None:
        """Raise `InputError` where hyperparameters do not go together, each within its range."""
        return

    def trimmed(self, tensors: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors as a bundle stores them."""
        return tensors

    def tensors(self, state: LearnerState) -> dict[str, Array]:
        """Return the tensors of the policy as it is without exploring."""
        ...


@runtime_checkable
class Learner(Capabilities, Protocol):
    """Learns from segments of experience."""

    steps: int
    """Decisions to learn from, over all environments."""
    envs: int
    """Environments played at once."""
    segment: int
    """Steps of each environment between updates."""

    def init(self, blueprint: Blueprint, key: Array, example: Seen) -> LearnerState:
        """Return the state before learning; `example` shows the shapes of what will be seen."""
        ...

    def act(
        self, blueprint: Blueprint, state: LearnerState, key: Array, seen: Seen
    ) -> tuple[Array, Mapping[str, Array]]:
        """Choose nodes [envs] (-1 = defer), exploring; return them with whatever `update` will need."""
        ...

    def update(
        self, blueprint: Blueprint, state: LearnerState, key: Array, segment: Segment
    ) -> tuple[LearnerState, Figures]:
        """Learn from a segment."""
        ...


@runtime_checkable
class Population(Capabilities, Protocol):
    """Learns from how well whole traces went under many variants of the tensors."""

    generations: int
    """How often the population is renewed."""
    population: int
    """Variants per generation."""
    traces: int
    """Traces on which every variant of a generation is tried."""

    def init(self, blueprint: Blueprint, key: Array) -> LearnerState:
        """Return the state before learning."""
        ...

    def ask(self, state: LearnerState, key: Array) -> tuple[dict[str, Array], Array]:
        """Return the variants' tensors [population, ...] and what `tell` will need."""
        ...

    def tell(self, state: LearnerState, drawn: Array, fitness: Array) -> tuple[LearnerState, Figures]:
        """Learn from the fitness of each variant [population]; more is better."""
        ...
