"""A look at the workload before training: which features vary, and on what scale the objective moves.

Random placements on a few training traces, played by the simulator's plain twin in NumPy: nothing has to be compiled
for it. A feature that never varies teaches nothing, and would mislead where it varies later: it is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from longshore.core.arrays import features as feature_table
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, hash_uint32
from longshore.core.words.errors import InputError
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.weighted import Weighted
from longshore.policies.base import Policy
from longshore.simulator.params import Compiled
from longshore.simulator.reference import Reference

MOST_DECISIONS = 400
"""Enough to see what varies; a second or less."""
_LEAST_SPREAD = 1e-6
_ONLY_WHEN_ASKED = ("next_cpu", "next_memory")
"""The pod that comes next is known only where one decides on all that wait; a policy must ask to depend on it."""


class Probe(NamedTuple):
    """What was seen."""

    features: tuple[str, ...]
    """Those that vary."""
    rewards: Array  # [decisions, terms] float64; of random placements


@dataclass
class _Watcher:
    """Looks over the shoulder of a random policy, and of what it earns."""

    objective: Weighted
    features: tuple[str, ...]
    low: Array = np.inf
    high: Array = -np.inf
    rewards: list[Array] = field(default_factory=list)

    def score(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        rows = feature_table.features(arrays, pod_class, feasible, self.features)[arrays.nodes.is_real]
        self.low, self.high = np.minimum(self.low, rows.min(axis=0)), np.maximum(self.high, rows.max(axis=0))
        return hash_uint32(arrays.state.seed, arrays.state.step, arrays.nodes.name_rank).astype(np.float64)

    def reward(self, step: Transition) -> Array:
        self.rewards.append(np.array([float(term.reward(step)) for _, term in self.objective.terms]))
        return np.zeros(())

    ends_episode = staticmethod(never_ends)


def probe(compiled: Sequence[Compiled], objective: Weighted, filters: tuple[str, ...]) -> Probe:
    """Play random placements.

    Raises:
        InputError: nothing could be placed, or the objective gave a number that is not finite.
    """
    has_gpus = any(one.params.cluster.nodes.gpu_capacity.any() for one in compiled)
    watcher = _Watcher(objective, feature_table.default_names(has_gpus))
    per_trace = max(MOST_DECISIONS // len(compiled), 50)
    for one in compiled:
        lag = float(one.params.lag_seconds)
        twin = Reference(one, Policy(watcher.score), filters, lag, watcher)
        wanted = len(watcher.rewards) + per_trace
        for step in twin.play():
            if len(watcher.rewards) >= wanted or (step.is_decision and len(watcher.rewards) >= MOST_DECISIONS):
                break
    if not watcher.rewards:
        raise InputError("no pod of the training traces can be placed", "look at them with `longshore simulate`")
    rewards = np.array(watcher.rewards)
    if not np.isfinite(rewards).all():
        raise InputError("the objective gave a reward that is not a finite number", "check its terms and weights")
    varying = watcher.high - watcher.low > _LEAST_SPREAD
    taken = dict(zip(watcher.features, varying, strict=True))
    names = tuple(name for name, varies in taken.items() if varies and name not in _ONLY_WHEN_ASKED)
    return Probe(names, rewards)
