"""Evolution: variants of the tensors play whole traces, and the mean moves towards those that did well.

Variants come in mirrored pairs (mean + noise, mean - noise), which halves the noise of the estimate. Fitness counts by
rank alone, so that the scale of the objective does not matter. Every tensor entry has a step size of its own, which
grows where large steps did well and shrinks where small ones did (separable natural evolution). It needs no value
function and no discount: good where what matters shows only over a whole trace.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from longshore.agents.base import Figures, Population
from longshore.agents.networks.base import Blueprint
from longshore.agents.ranges import AMOUNT, BUDGET, Range
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import needed, tensor_names


class EvolutionState(NamedTuple):
    """Where the population stands."""

    mean: dict[str, Array]
    deviation: dict[str, Array]
    generation: Array  # [] int32


@dataclass(frozen=True)
class Evolution(Population):
    """Mirrored, rank-based, separable natural evolution."""

    generations: Annotated[int, BUDGET] = 150
    """How often the population is renewed."""
    population: Annotated[int, Range(2, is_budget=True)] = 64
    """Variants per generation; even, since they come in pairs."""
    traces: Annotated[int, BUDGET] = 8
    """Traces on which every variant of a generation is tried; the same for all of them."""
    first_deviation: Annotated[float, AMOUNT] = 0.3
    """Step size at the start, before anything is known."""
    mean_rate: Annotated[float, AMOUNT] = 1.0
    """How far the mean follows the best variants."""
    deviation_rate: Annotated[float, AMOUNT] = 0.1
    """How fast step sizes adapt."""

    def init(self, blueprint: Blueprint, key: Array) -> EvolutionState:
        """Return the state before learning; only what the scores depend on is evolved."""
        drawn = blueprint.init(key)
        mean = {name: drawn[name] for name in tensor_names(needed(blueprint.ops))}
        deviation = jax.tree.map(lambda leaf: jnp.full_like(leaf, self.first_deviation), mean)
        return EvolutionState(mean, deviation, jnp.zeros((), jnp.int32))

    def ask(self, state: EvolutionState, key: Array) -> tuple[dict[str, Array], Array]:
        """Return the variants and the noise that made them [population, entries]."""
        mean, unravel = ravel_pytree(state.mean)
        deviation, _ = ravel_pytree(state.deviation)
        half = jax.random.normal(key, (self.population // 2, mean.shape[0]), jnp.float32)
        noise = jnp.concatenate([half, -half])
        variants: dict[str, Array] = jax.vmap(unravel)(mean + deviation * noise)
        return variants, noise

    def tell(self, state: EvolutionState, drawn: Array, fitness: Array) -> tuple[EvolutionState, Figures]:
        """Move the mean and the step sizes."""
        mean, unravel = ravel_pytree(state.mean)
        deviation, _ = ravel_pytree(state.deviation)
        worth = _worth(fitness)
        mean_step = worth @ drawn
        deviation_step = worth @ (drawn**2 - 1)
        mean = mean + self.mean_rate * deviation * mean_step
        deviation = deviation * jnp.exp(0.5 * self.deviation_rate * deviation_step)
        figures = {"fitness": fitness.mean(), "fitness_best": fitness.max(), "deviation": deviation.mean()}
        return EvolutionState(unravel(mean), unravel(deviation), state.generation + 1), figures

    def tensors(self, state: EvolutionState) -> dict[str, Array]:
        """Return the mean."""
        return state.mean


def _worth(fitness: Array) -> Array:
    """Return each variant's weight by rank [population]: they sum to 0, and equal fitness has equal weight."""
    size = fitness.shape[0]
    fitness = jnp.where(jnp.isnan(fitness), -jnp.inf, fitness)
    best = jnp.maximum(0.0, jnp.log(size / 2 + 1) - jnp.log(jnp.arange(1, size + 1, dtype=jnp.float32)))
    by_rank = best / best.sum() - 1 / size
    # Variants that did equally well share the weights of their ranks; else the order of the list would decide.
    above = (fitness[None, :] > fitness[:, None]).sum(axis=1)
    equal = (fitness[None, :] == fitness[:, None]).sum(axis=1)
    sums = jnp.concatenate([jnp.zeros(1, jnp.float32), jnp.cumsum(by_rank)])
    return (sums[above + equal] - sums[above]) / equal
