"""A trained policy as a scoring function over all nodes: NumPy when live, JAX when simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.errors import InputError
from longshore.core.forward import SCORE, Op, forward, needed
from longshore.core.ops import Array, namespace
from longshore.core.policy import Policy, weight_values
from longshore.policies import REGISTRY
from longshore.policies.heuristics.base import Heuristic
from longshore.policies.inputs import policy_inputs
from longshore.policies.row_cache import RowCache, first_layer


def learned(policy: Policy, preference: Mapping[str, float] | None = None, *, keeps_rows: bool = False) -> Heuristic:
    """Return a policy as a heuristic.

    Args:
        policy: one that `core.policy.check_policy` has let through, as every one read from a bundle is.
        preference: weights by term, for policies that take them; None = the policy's own.
        keeps_rows: remember what the network makes of every node until it changes, where the network allows that
            (`policies.row_cache`): for many decisions on one cluster, in NumPy. The scores are the same.

    Raises:
        UnknownNameError: its prior is no policy of this installation.
        InputError: a preference that it does not take.
    """
    prior: Heuristic | None = None if policy.prior is None else REGISTRY.load(policy.prior)
    weights = weight_values(policy, preference)
    score = _Score(
        ops=needed(policy.ops, SCORE),
        tensors=policy.tensors,
        features=policy.feature_names,
        prior=prior,
        preference=weights,
        num_nodes=policy.num_nodes,
    )
    layer = first_layer(score.ops, score.tensors, len(score.features), weights) if keeps_rows else None
    return Heuristic(
        score if layer is None else RowCache(layer, score.tensors, score.features, prior, weights),
        # What a hybrid leaves open is decided as its heuristic decides: it begins as that heuristic.
        devices=gpu.best_fit if prior is None else prior.devices,
        has_random_ties=prior is not None and prior.has_random_ties,
        is_order_dependent=policy.num_nodes is not None or (prior is not None and prior.is_order_dependent),
        may_defer=policy.may_defer,
    )


@dataclass(frozen=True, eq=False)
class _Score:
    """The scoring function; it hashes by identity, as JAX wants of what a program is compiled for."""

    ops: tuple[Op, ...]
    tensors: Mapping[str, np.ndarray[Any, Any]]
    features: tuple[str, ...]
    prior: Heuristic | None
    preference: np.ndarray[Any, Any]
    num_nodes: int | None

    def __call__(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Score all nodes, float32 [nodes]."""
        if self.num_nodes is not None and feasible.shape[0] != self.num_nodes:
            raise InputError(
                f"got a cluster of {feasible.shape[0]} nodes, expected {self.num_nodes}: "
                "the policy's network is of fixed size",
                "train one of the networks that serve any number of nodes, such as deepsets",
            )
        inputs = policy_inputs(arrays, pod_class, feasible, self.features, self.prior, self.preference)
        return forward(self.ops, self.tensors, inputs)[SCORE].astype(namespace(feasible).float32)
