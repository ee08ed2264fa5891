"""What a network is before it is trained: operations, and the shapes of the tensors that they read."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from longshore.core.arrays.ops import Array
from longshore.core.network.forward import CONTEXT, LOAD, LOADS, POD_KIND, POD_KINDS, PREFERENCE, PRIOR, ROWS, SCORE, Op

VALUE = "value"
"""What learners of values add to every network: the worth of the state, [1]."""
CORRECTION = "correction"
FINAL_GAIN = 1e-4
"""Of the layers that give scores and values: what they give begins near 0."""
# The tensor that weighs the heuristic of a hybrid.
_PRIOR_SCALE = "prior_scale"


class Sizes(NamedTuple):
    """What shapes a network's tensors."""

    features: int
    nodes: int
    """Only fixed-size networks read it."""
    terms: int = 0
    """Weights of the objective that are given at run time."""
    has_prior: bool = False
    """The scores correct those of a heuristic."""


class Shape(NamedTuple):
    """How a tensor begins."""

    shape: tuple[int, ...]
    deviation: float
    """Of the normal distribution that it is drawn from; 0 = all are `fill`."""
    fill: float = 0.0


@dataclass(frozen=True)
class Blueprint:
    """A network: what to compute, and what to learn."""

    ops: tuple[Op, ...]
    shapes: tuple[tuple[str, Shape], ...]
    nodes: int | None = None
    """The number of nodes that it is for; None = any."""

    def init(self, key: Array) -> dict[str, Array]:
        """Draw the tensors."""
        keys = jax.random.split(key, len(self.shapes))
        return {
            name: shape.fill + shape.deviation * jax.random.normal(one, shape.shape, jnp.float32)
            for one, (name, shape) in zip(keys, self.shapes, strict=True)
        }


@runtime_checkable
class Network(Protocol):
    """A kind of network; implementations inherit from it as frozen dataclasses, their fields the hyperparameters."""

    takes_dial: ClassVar[bool] = True
    """Its choice can depend on the weights of the objective's terms."""

    @property
    def needs_gpus(self) -> bool:
        """Say whether it means nothing on nodes without GPUs."""
        return False

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network for these sizes, with `score` and `value`."""
        ...


@dataclass
class Builder:
    """Collects operations and shapes; `width` keeps how wide each value is."""

    sizes: Sizes
    ops: list[Op] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    width: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.width |= {ROWS: self.sizes.features, PREFERENCE: self.sizes.terms, PRIOR: 1}
        self.width |= {POD_KIND: len(POD_KINDS), LOAD: len(LOADS)}

    def start(self) -> str:
        """Return the value that a network begins with: the rows and, where there is a dial, its weights."""
        return self.concat("input", ROWS, PREFERENCE) if self.sizes.terms else ROWS

    def linear(self, output: str, given: str, width: int, *, gain: float = 2.0, name: str | None = None) -> str:
        """Add a linear layer; `gain` is 2 before a relu, less for outputs that should begin small."""
        name, inside = name or output, self.width[given]
        self.shapes[f"{name}.weight"] = Shape((inside, width), (gain / max(inside, 1)) ** 0.5)
        self.shapes[f"{name}.bias"] = Shape((width,), 0.0)
        return self._add("linear", output, (given,), width, (f"{name}.weight", f"{name}.bias"))

    def relu(self, output: str, given: str) -> str:
        """Add a relu."""
        return self._add("relu", output, (given,), self.width[given])

    def add(self, output: str, *given: str) -> str:
        """Add values up."""
        return self._add("add", output, given, self.width[given[0]])

    def mixed(self, output: str, given: str, mix: str, *, gain: float, name: str) -> str:
        """Add a weighted sum whose weights are mixed from several sets by a value."""
        inside, sets = self.width[given], self.width[mix]
        self.shapes[f"{name}.weight"] = Shape((inside, sets), (gain / max(inside, 1)) ** 0.5)
        self.shapes[f"{name}.bias"] = Shape((sets,), 0.0)
        return self._add("mixed", output, (given, mix), 1, (f"{name}.weight", f"{name}.bias"))

    def outer(self, output: str, one: str, other: str) -> str:
        """Multiply every element of one value by every element of another."""
        return self._add("outer", output, (one, other), self.width[one] * self.width[other])

    def concat(self, output: str, *given: str) -> str:
        """Put values side by side."""
        return self._add("concat", output, given, sum(self.width[one] for one in given))

    def pool(self, kind: str, output: str, given: str) -> str:
        """Pool over nodes in one of the ways of `network.forward.KINDS`."""
        return self._add(kind, output, (given,), self.width[given])

    def flatten(self, output: str, given: str) -> str:
        """Put all nodes' rows into one vector; the number of nodes is then fixed."""
        return self._add("flatten", output, (given,), self.width[given] * self.sizes.nodes)

    def finish(self, hidden: str, context: str, *, nodes: int | None = None) -> Blueprint:
        """Add the score and the value. `hidden` is per node; of a fixed-size network it is a vector."""
        width = 1 if nodes is None else nodes
        correction = self.linear(self.unfinished, hidden, width, gain=FINAL_GAIN, name=SCORE)
        return self.finish_scored(correction, context, nodes=nodes)

    @property
    def unfinished(self) -> str:
        """What the network's own score is called: a hybrid's is a correction of the heuristic's."""
        return CORRECTION if self.sizes.has_prior else SCORE

    def finish_scored(self, correction: str, context: str, *, nodes: int | None = None) -> Blueprint:
        """Add the value, and a hybrid's score. `correction` is the value `unfinished`, its tensors are named `score`.

        Scores begin near 0, so that a new policy tries everything; a hybrid's correction begins at exactly 0.
        """
        if self.sizes.has_prior:
            self.shapes["score.weight"] = self.shapes["score.weight"]._replace(deviation=0.0)
            self.shapes[_PRIOR_SCALE] = Shape((1,), 0.0, 1.0)
            prior = self._add("scale", "prior_scaled", (PRIOR,), 1, (_PRIOR_SCALE,))
            if nodes is not None:
                prior = self.flatten("prior_flat", prior)
            self.add(SCORE, prior, correction)
        self._add("add", CONTEXT, (context,), self.width[context])
        self.linear(VALUE, CONTEXT, 1, gain=FINAL_GAIN)
        return Blueprint(tuple(self.ops), tuple(self.shapes.items()), nodes)

    def _add(self, kind: str, output: str, given: tuple[str, ...], width: int, tensors: tuple[str, ...] = ()) -> str:
        self.ops.append(Op(kind, given, output, tensors))
        self.width[output] = width
        return output
