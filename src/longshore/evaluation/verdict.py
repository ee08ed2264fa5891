"""What a comparison says in a sentence: a policy beside the baseline, the best plain policy and the optimum."""

import math
from typing import TYPE_CHECKING

import numpy as np

from longshore.core.words.assumed import marked
from longshore.core.words.text import number, quantity
from longshore.evaluation.statistics import Interval, interval, paired

if TYPE_CHECKING:
    from longshore.evaluation.comparison import Comparison, Row

_WATTS = "watts_idle_off"


def verdicts(found: "Comparison") -> tuple[str, ...]:
    """Return a sentence for every trained policy, the best first; without one, a sentence for the best policy."""
    ranked = sorted((row for row in found.rows if math.isfinite(_reward(row))), key=lambda row: -_reward(row))
    trained = [row for row in ranked if row.is_trained]
    return tuple(_verdict(found, row) for row in trained or ranked[:1])


def _verdict(found: "Comparison", row: "Row") -> str:
    plain = max((one for one in found.rows if not one.is_trained), key=_reward, default=None)
    is_plain = plain is not None and plain.policy == row.policy
    name = f"{row.policy}, the best of these policies," if is_plain else row.policy
    parts = [f"{name} earns {number(row.metrics['reward'].mean)}{_of_bound(found, row)}"]
    if "reward" in row.differences:
        parts.append(_against(found.baseline, row.differences["reward"]))
    if plain is not None and not is_plain:
        if plain.policy == found.baseline:
            parts[-1] += f" ({found.baseline} is the best plain policy)"
        else:
            difference = interval(paired(np.array(row.values["reward"]), np.array(plain.values["reward"])))
            parts.append(_against(f"{plain.policy}, the best plain policy", difference))
    watts = row.metrics[_WATTS].mean
    text = f"with idle nodes off {marked(quantity(watts, 'W'), found.assumed, _WATTS)}"
    if _WATTS in row.differences:
        text += f", {found.baseline} {quantity(watts - row.differences[_WATTS].mean, 'W')}"
    parts.append(text)
    if row.has_waiting:
        parts.append("it left pods waiting, which makes it look better than it is")
    return "; ".join(parts)


def _of_bound(found: "Comparison", row: "Row") -> str:
    bound = found.bounds.get("reward")
    if bound is None or bound.value is None or bound.value <= 0.0 or row.has_waiting:
        return ""
    return f", {_reward(row) / bound.value:.1%} of the {bound.kind} {number(bound.value)}"


def _against(name: str, difference: Interval) -> str:
    if difference.mean == 0.0 and not (difference.low < 0.0 or difference.high > 0.0):
        return f"the same as {name}"
    if difference.low <= 0.0 <= difference.high:
        told = quantity(difference.mean, "", difference.low, difference.high)
        return f"not clearly different from {name} ({'+' * (difference.mean > 0.0)}{told})"
    word = "more" if difference.mean > 0.0 else "less"
    ends = () if math.isnan(difference.low) else sorted((abs(difference.low), abs(difference.high)))
    return f"{quantity(abs(difference.mean), '', *ends)} {word} than {name}"


def _reward(row: "Row") -> float:
    return row.metrics["reward"].mean
