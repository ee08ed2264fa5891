"""What a bound is: how well a metric could be done at best, by which method, and what that proves."""

import math
from dataclasses import dataclass

from longshore.core.words.errors import InputError

NO_POD_WAITS = "no pod waits"
"""The condition of most bounds: a policy that leaves pods waiting can use less, because it does less."""


@dataclass(frozen=True)
class Bound:
    """The best value of one metric on one trace, or its mean over several."""

    metric: str
    """A name of `metrics.METRICS`."""
    value: float | None
    """None = there is no method for this trace; `method` says why."""
    method: str
    """For instance `dp`, `beam(4096)`, `bin packing`, `milp`."""
    is_exact: bool = False
    """The value is the optimum itself, proven."""
    is_reached: bool = False
    """Somebody did this well: the optimum is this value or better. Otherwise no policy is better than the value."""
    condition: str = NO_POD_WAITS
    """For which runs it holds; empty = for all."""

    @property
    def kind(self) -> str:
        """What it proves, in a word or two."""
        return "optimum" if self.is_exact else "best found" if self.is_reached else "limit"


def missing(metric: str, error: InputError) -> Bound:
    """Return the bound of a metric for which there is none, with the reason."""
    return Bound(metric, None, f"none: {error.message}")


def mean_bound(bounds: list[Bound]) -> Bound:
    """Return the mean over traces; it is exact only if all are, and missing if any is."""
    without = [bound for bound in bounds if bound.value is None]
    if without:
        return without[0]
    first = bounds[0]
    methods = list(dict.fromkeys(bound.method for bound in bounds))
    return Bound(
        metric=first.metric,
        value=math.fsum(bound.value for bound in bounds if bound.value is not None) / len(bounds),
        method=" or ".join(methods),
        is_exact=all(bound.is_exact for bound in bounds),
        is_reached=all(bound.is_reached for bound in bounds),
        condition=next((bound.condition for bound in bounds if bound.condition), ""),
    )
