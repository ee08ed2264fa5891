"""How much of what a trained policy reads of a cluster lies outside of what it met in training. Pure."""

from dataclasses import dataclass

import numpy as np

from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.features import features
from longshore.core.network.bundle import Bundle
from longshore.core.words.text import number

WARN_FROM = 0.05
"""The share from which a person is told."""
MAX_OUTSIDE = 0.25
"""The share from which the plugin does not use the policy, unless told otherwise."""
_MOST_CLASSES = 64
_MOST_NAMED = 3


@dataclass(frozen=True)
class Beyond:
    """A feature whose values lie outside."""

    feature: str
    share: float
    """Of its values."""
    farthest: float
    low: float
    high: float

    def __str__(self) -> str:
        met = f"{number(self.low)} to {number(self.high)}"
        return f"`{self.feature}` (as far as {number(self.farthest)}; in training {met})"


@dataclass(frozen=True)
class Outside:
    """What lies outside of the envelope of a bundle."""

    share: float
    """Of all values."""
    beyond: tuple[Beyond, ...]
    """The features that are concerned, the most often so first."""

    def warning(self, policy: str) -> str | None:
        """Say so where it is worth saying."""
        if self.share < WARN_FROM:
            return None
        named = ", ".join(map(str, self.beyond[:_MOST_NAMED]))
        more = f" and {len(self.beyond) - _MOST_NAMED} more" if len(self.beyond) > _MOST_NAMED else ""
        follows = "; kube-scheduler with the plugin would not use it here" if self.share > MAX_OUTSIDE else ""
        return (
            f"{policy} was not trained for clusters like this one: {self.share:.0%} of what it reads lies outside of "
            f"what it met: {named}{more}{follows}"
        )


def outside_of(bundle: Bundle, encoded: Encoded) -> Outside:
    """Compare what a bundle would read of a cluster, for pods of up to 64 of its classes, with its envelope."""
    arrays, names = encoded.arrays, bundle.feature_names
    every = len(encoded.specs)
    chosen = np.unique(np.linspace(0, every - 1, min(every, _MOST_CLASSES)).astype(np.intp)) if every else ()
    low, high = np.array(bundle.envelope.low), np.array(bundle.envelope.high)
    is_real = arrays.nodes.is_real
    rows = [features(arrays, np.asarray(one), is_real, names)[is_real] for one in chosen]
    values = np.concatenate(rows) if rows else np.zeros((0, len(names)))
    if not values.size:
        return Outside(0.0, ())
    # As far as the numbers that are compared are exact: float32, as a network reads them.
    beyond = np.maximum(values - high.astype(np.float32), low.astype(np.float32) - values)
    shares, farthest = (beyond > 0).mean(axis=0), beyond.argmax(axis=0)
    found = [
        Beyond(name, float(shares[i]), float(values[farthest[i], i]), float(low[i]), float(high[i]))
        for i, name in enumerate(names)
        if shares[i] > 0
    ]
    return Outside(float((beyond > 0).mean()), tuple(sorted(found, key=lambda one: -one.share)))
