"""Limits that come before the objective: `p99_latency_ms<=25`, then the objective as good as can be.

How much a breach costs is not set by hand: a multiplier grows while the limit is broken and shrinks while there is room
(a Lagrange multiplier, moved once per update). A limit on a quantile is one on how many placements may exceed it.

Which policy is kept is decided on a few traces, and of many policies that are judged there the one that looks best is
partly the one that was lucky. So a policy counts as keeping the limit only where it does so by a margin that chance
alone would hardly give: the upper end of what its cost may be on other traces has to be within what is allowed.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError

HIGHEST_MULTIPLIER = 100.0
# One-sided 97.7 %, by the normal distribution: of 20 judgements in a training the luckiest is about so far off.
_STANDARD_ERRORS = 2.0
_EXAMPLE = "write for instance `p99_latency_ms<=25` or `mean_latency_ms<=18`"


@dataclass(frozen=True)
class Limit:
    """A bound on the latency of placements."""

    bound_ms: float
    quantile: float | None
    """None = the mean."""
    rate: float = 2.0
    """How fast the multiplier follows."""

    def cost(self, latency_ms: Array) -> Array:
        """Return what one placement costs; an unknown latency costs nothing."""
        known = ~jnp.isnan(latency_ms)
        if self.quantile is None:
            return jnp.where(known, latency_ms / self.bound_ms - 1.0, 0.0)
        return jnp.where(known, (latency_ms > self.bound_ms) * 1.0, 0.0)

    @property
    def allowed(self) -> float:
        """The mean cost that just keeps the limit."""
        return 0.0 if self.quantile is None else 1.0 - self.quantile

    def follow(self, multiplier: Array, cost: Array) -> Array:
        """Return the multiplier after an update in which placements cost this much on average."""
        # Aims at half of what is allowed, so that a policy that is judged without its exploration is on the safe side.
        return jnp.clip(multiplier + self.rate * (cost - 0.5 * self.allowed), 0.0, HIGHEST_MULTIPLIER)

    def breach(self, cost: Array, placed: Array) -> Array:
        """Return by how much the limit may be broken on other traces; 0 = it is kept there too, most likely.

        `cost` and `placed` [traces] are the sums over each trace, by which the spread between traces is told.
        """
        total = jnp.maximum(placed.sum(), 1)
        mean = cost.sum() / total
        number = cost.shape[0]
        # Of a mean over placements that come in traces: those of one trace are broken or kept together.
        spread = jnp.sqrt(((cost - mean * placed) ** 2).sum() * number / max(number - 1, 1)) / total
        return jnp.maximum(mean + _STANDARD_ERRORS * spread - self.allowed, 0.0)


class NoLimit(NamedTuple):
    """Stands where there is no limit."""

    allowed: float = float("inf")

    def cost(self, latency_ms: Array) -> Array:
        """Return 0."""
        return jnp.zeros_like(latency_ms)

    def follow(self, multiplier: Array, cost: Array) -> Array:
        """Return the multiplier as it is."""
        return multiplier

    def breach(self, cost: Array, placed: Array) -> Array:
        """Return 0."""
        return jnp.zeros(())


NO_LIMIT = NoLimit()


def parse_limit(text: str) -> Limit | NoLimit:
    """Read a limit; nothing = none.

    Raises:
        InputError: it cannot be read.
    """
    if not text.strip():
        return NO_LIMIT
    found = re.fullmatch(r"(?:p(\d{1,2}(?:\.\d+)?)|mean)_latency_ms\s*<=\s*(\d+(?:\.\d+)?)", text.strip())
    if found is None or float(found[2]) <= 0 or (found[1] is not None and float(found[1]) <= 0):
        raise InputError(f"got the limit `{text}`, expected `pNN_latency_ms<=MS` or `mean_latency_ms<=MS`", _EXAMPLE)
    return Limit(float(found[2]), None if found[1] is None else float(found[1]) / 100.0)
