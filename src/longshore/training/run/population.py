"""A population over workers: several jobs try the variants of a generation, asking and telling stays in one place.

The driver draws the variants, workers play the traces with them and return what was earned, the driver moves the mean.
Which variant is tried where changes nothing: a run gives the same tensors on every engine.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from safetensors import numpy as safetensors_numpy

from longshore.agents.base import Figures
from longshore.core.arrays.ops import Array
from longshore.training.program.chunk import Data, Program, TrainState
from longshore.training.program.compiling import compiler_options
from longshore.training.program.greedy import Judged
from longshore.training.run.engine import Engine, Report, Values, run_all
from longshore.training.run.plan import Plan, read_plan
from longshore.training.run.prepare import Prepared, prepare

_COUNTED = ("terms", "cost", "placed", "decided", "created")
"""What of `Judged` a population learns from."""


@dataclass(frozen=True)
class SplitProgram(Program):
    """A program whose generations are tried by an engine's workers."""

    plan: Plan
    engine: Engine
    parts: int
    """Jobs per generation."""

    @cached_property
    def chunk(self) -> Callable[[Data, TrainState], tuple[TrainState, Figures]]:
        """Train a chunk and judge it, one generation after the other."""
        options = compiler_options()
        ask, tell, select = (jax.jit(one, compiler_options=options) for one in (self.ask, self.tell, self.select))

        def run(data: Data, state: TrainState) -> tuple[TrainState, Figures]:
            all_figures: list[Figures] = []
            for _ in range(self.updates):
                key, variants, drawn, traces = ask(data, state)
                judged = self._spread(variants, traces)
                state, figures = tell(data, state, key, drawn, judged)
                all_figures.append(figures)
            mean = jax.tree.map(lambda *leaves: jnp.stack(leaves).mean(axis=0), *all_figures)
            found: tuple[TrainState, Figures] = select(data, state, mean)
            return found

        return run

    def _spread(self, variants: dict[str, Array], traces: Array) -> Judged:
        """Let jobs try the variants [seeds, population, ...] on the traces [seeds, traces]."""
        own = {name: np.asarray(leaf) for name, leaf in variants.items()}
        size = next(iter(own.values())).shape[1]
        bounds = np.linspace(0, size, min(self.parts, size) + 1).round().astype(int)
        values = [
            {
                "plan": self.plan.to_json(),
                "variants": safetensors_numpy.save(
                    {name: np.ascontiguousarray(leaf[:, begin:end]) for name, leaf in own.items()}
                ),
                "traces": np.asarray(traces).tolist(),
            }
            for begin, end in pairwise(bounds.tolist())
        ]
        parts = [safetensors_numpy.load(one["judged"]) for one in run_all(self.engine, judge_job, values)]
        whole = {name: jnp.asarray(np.concatenate([part[name] for part in parts], axis=1)) for name in _COUNTED}
        nothing = jnp.zeros((*whole["cost"].shape, 0), jnp.float32)
        return Judged(**whole, low=nothing, high=nothing)


def with_engine(prepared: Prepared, engine: Engine, parts: int | None = None) -> Prepared:
    """Let an engine's workers try the variants of a population; `parts` jobs a generation, None = one per worker."""
    program = prepared.program
    shared = {one.name: getattr(program, one.name) for one in dataclasses.fields(program)}
    split = SplitProgram(**shared, plan=prepared.plan, engine=engine, parts=parts or engine.width)
    return dataclasses.replace(prepared, program=split)


def judge_job(values: Values, _report: Report) -> Values:
    """Try variants [seeds, variants, ...] on traces [seeds, traces] of a plan; return what `Judged` counts of them."""
    judge = _judge(msgspec.json.encode(values["plan"]))
    variants = safetensors_numpy.load(values["variants"])
    judged = judge(variants, np.asarray(values["traces"]))
    return {"judged": safetensors_numpy.save({name: np.asarray(getattr(judged, name)) for name in _COUNTED})}


@lru_cache(maxsize=2)  # a worker is asked for the same plan again every generation
def _judge(plan: bytes) -> Callable[[dict[str, Any], Any], Judged]:
    prepared = prepare(read_plan(msgspec.json.decode(plan)))
    compiled = jax.jit(prepared.program.try_out, compiler_options=compiler_options())
    return lambda variants, traces: compiled(prepared.data, variants, traces)
