"""What a hyperparameter may be, and whether a sweep tries others: at its field, as in `clip: Annotated[float, SHARE]`.

A number without a range is one of `COUNT` if it is whole, else of `AMOUNT`. Around which values a sweep looks follows
from the type and the value (`training.search.space`), and never leaves the range.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Range:
    """The numbers that a hyperparameter may be."""

    least: float
    most: float = math.inf
    is_budget: bool = False
    """It buys a better result with time or memory: a sweep leaves it alone unless it is asked for."""
    is_guides: bool = False
    """It matters where there is a guide, and a sweep leaves it alone elsewhere."""

    def __str__(self) -> str:
        return f"{self.least:g} or more" if self.most == math.inf else f"{self.least:g} to {self.most:g}"


COUNT, AMOUNT, SHARE = Range(1), Range(0), Range(0, 1)
BUDGET = Range(1, is_budget=True)
GUIDES_SHARE = Range(0, 1, is_guides=True)


class Declared(NamedTuple):
    """What a field says of itself."""

    kind: Any
    """Its type."""
    default: Any
    range: Range | None
    """None = it is no number."""


def declared(unit: type) -> Mapping[str, Declared]:
    """Return the hyperparameters of a learner's or a network's class."""
    hints = get_type_hints(unit, include_extras=True)
    return {one.name: _declared(hints[one.name], one.default) for one in dataclasses.fields(unit)}


def _declared(hint: Any, default: Any) -> Declared:
    kind, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    own = [one for one in words if isinstance(one, Range)]
    return Declared(kind, default, own[0] if own else {int: COUNT, float: AMOUNT}.get(kind))
