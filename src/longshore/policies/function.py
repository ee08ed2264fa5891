"""A policy that is a plain Python function: an agent from elsewhere, asked as `longshore/Placement-v0` asks one.

    def choose(observation, action_mask): ...

It gets that environment's observation (float32 [nodes, features]) and its mask (bool [nodes + 1], the last action is to
wait). It returns an action, as `env.step` takes it, or a score for every node, or one for every action. An action that
is not allowed waits, as it does there.

The function runs in Python on NumPy arrays. A compiled simulation calls it back at every step (`simulator.callback`),
also at those whose answer it does not need: so it keeps nothing from one call to the next.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.features import default_names, features
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.policies.base import Policy

Function = Callable[[Array, Array], Any]
"""(observation, action mask) -> an action or scores."""

Ask = Callable[[Array, Array], Array]
"""(observation, feasible [nodes]) -> float64 [nodes]: by how much a node is better than waiting."""


def policy_of(function: Function) -> Policy:
    """Return the policy that a function is, behind the filters of the environment that it was made for."""
    return Policy(FunctionScore(function), is_order_dependent=True, may_defer=True, filters="upstream+latency")


@dataclass(frozen=True)
class FunctionScore:
    """The scoring function of such a policy."""

    function: Function
    call: Callable[[Ask, Array, Array], Array] = lambda ask, rows, feasible: ask(rows, feasible)
    """How the function is reached from where the arrays are."""

    def __call__(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Score all nodes, float64 [nodes]."""
        rows = features(arrays, pod_class, feasible, default_names(arrays.nodes.gpu_capacity.shape[1] > 0))
        return self.call(partial(asked, self.function), rows, feasible)


def asked(function: Function, rows: Array, feasible: Array) -> Array:
    """Ask the function; return by how much every node is better than waiting, float64 [nodes].

    Raises:
        InputError: it failed, or returned neither an action nor scores.
    """
    name, nodes = getattr(function, "__name__", type(function).__name__), len(feasible)
    try:
        answer = np.asarray(function(rows, np.append(feasible, True)), np.float64)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"the policy's function `{name}` raised {type(error).__name__}: {error}",
            "it is called with an observation and a mask, as docs/guides/extend.md says",
        ) from error
    if answer.shape == () and float(answer) in range(nodes + 1):
        return np.where(np.arange(nodes) == answer, 1.0, -1.0)
    if answer.shape not in ((nodes,), (nodes + 1,)):
        raise InputError(
            f"the policy's function `{name}` returned `{answer}`, expected a whole number up to {nodes}, or "
            f"{nodes} or {nodes + 1} scores",
            "return an action, a score for every node, or one for every action",
        )
    scores, wait = answer[:nodes], answer[nodes:]
    # Without a score for waiting no node is worse than that.
    known = wait[np.isfinite(wait)] if len(wait) else scores[np.isfinite(scores)]
    return scores - known.min(initial=np.inf) if len(known) else scores
