"""The training loop: chunk after chunk, until all is learnt or the caller has enough."""

import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import LongshoreError
from longshore.training.program.chunk import Data, TrainState
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import Prepared

# A chunk may fall into a stretch in which pods only leave; after so many traces without a decision something is wrong.
_IDLE_TRACES = 4


class Standing(NamedTuple):
    """Where a training stands, between two chunks."""

    state: TrainState
    """Whoever takes the next chunk gives it up."""
    chunks: int = 0
    """Done so far."""
    decided: int = 0
    """Decisions so far, of the seed that has made the fewest."""
    seconds: float = 0.0
    """Of training so far."""
    is_finished: bool = False
    figures: Mapping[str, np.ndarray[Any, Any]] = MappingProxyType({})
    """Of the last chunk [seeds, ...]."""
    decisions_per_second: float = 0.0
    """In the last chunk, of all seeds."""

    def share(self, prepared: Prepared) -> float:
        """Return how much of all there is to do is done, 0 to 1."""
        done = self.decided / prepared.steps if prepared.steps else self.chunks / prepared.chunks
        return min(done, 1.0)


def first_keys(plan: Plan) -> Array:
    """Return the key that each seed's training begins with."""
    return jax.vmap(jax.random.PRNGKey)(np.arange(plan.seed, plan.seed + plan.seeds))


def train_chunks(
    prepared: Prepared, data: Data, standing: Standing, place: Callable[[TrainState], TrainState] = lambda state: state
) -> Iterator[Standing]:
    """Train on from `standing`, and yield where it stands after every chunk; `place` puts the state on its devices.

    Raises:
        LongshoreError: no pod could be placed for longer than whole traces take.
    """
    program, idle = prepared.program, 0
    steps_per_chunk = program.updates * (1 if program.is_population else program.learner.segment)
    params = data.bank.params
    steps_per_trace = params.event_time.shape[1] + params.pod_class.shape[1]
    while not standing.is_finished:
        started = time.monotonic()
        state, found = program.chunk(data, place(standing.state))
        figures = {name: np.asarray(values) for name, values in found.items()}  # waits until it is done
        seconds = time.monotonic() - started
        chunks, decided = standing.chunks + 1, int(figures["decided"].min())
        new = decided - standing.decided
        standing = Standing(
            state=state,
            chunks=chunks,
            decided=decided,
            seconds=standing.seconds + seconds,
            is_finished=decided >= prepared.steps if prepared.steps else chunks >= prepared.chunks,
            figures=figures,
            decisions_per_second=prepared.plan.seeds * new / max(seconds, 1e-9),
        )
        yield standing
        idle = 0 if new > 0 else idle + 1
        if idle * steps_per_chunk > _IDLE_TRACES * steps_per_trace and not standing.is_finished:
            raise LongshoreError(
                "no pod could be placed for longer than whole traces take",
                "look at the workload with `longshore simulate`",
            )
