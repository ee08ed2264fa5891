"""What an objective is: a reward for one placement, read from the cluster before and after it."""

from typing import NamedTuple, Protocol

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace


class Transition(NamedTuple):
    """One placement."""

    before: ClusterArrays
    after: ClusterArrays
    pod_class: Array  # [] int
    node: Array  # [] int


class Objective(Protocol):
    """A reward term. Implementations are frozen dataclasses; their fields are the parameters that YAML may set.

    One that reads watts, prices or carbon intensity says so by a class variable `rests_on` (`words.node`), so that its
    reward is marked where these were assumed.
    """

    def reward(self, step: Transition) -> Array:
        """Return the reward of the placement, a float64 scalar; finite for every feasible placement."""
        ...

    def ends_episode(self, step: Transition) -> Array:
        """Say whether the episode ends with this placement (the documents' `strict` variants); a boolean scalar."""
        ...


def never_ends(step: Transition) -> Array:
    """Answer `ends_episode` for the terms that end nothing."""
    return namespace(step.after.state.pod_count).zeros((), bool)
