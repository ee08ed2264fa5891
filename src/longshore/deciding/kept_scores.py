"""Where pods of one class may go and how kube-default scores the nodes, kept between decisions.

A placement changes one node, so one row is computed again, by the same code as all rows. That is so only for classes
whose pods no other pod concerns and whose scores are not brought to scale over the nodes (no spread, affinity or ports,
no taints or preferences that weigh): most classes of most clusters. For others `make` returns None.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.heuristics import kube_default

_FIT: Final = "NodeResourcesFit"
"""The one filter that reads what pods ask for on the node itself."""
_BY_ROW: Final = (_FIT, "NodeResourcesBalancedAllocation")
"""The score plugins that do."""
TERMS: Final = ("hard_spread", "soft_spread", "affinity", "anti_affinity", "repelled_by", "preferred")
"""The tables of `ClassArrays` by which other pods concern a pod."""
_MOST_CHANGES = 200
"""Above so many changed amounts all rows are computed again: picking them out costs as much."""


class KeptScores:
    """Feasible nodes and scores for pods of one class, for as long as only the state changes."""

    def __init__(self, arrays: ClusterArrays, pod_class: int, names: Sequence[str]) -> None:
        self._class = np.asarray(pod_class)
        self._fit = filters.load((_FIT,))[0][1]
        static = tuple(name for name in names if name != _FIT)
        self._may_go = filters.feasible(arrays, self._class, static)
        self._base = np.zeros(self._may_go.shape, np.int64)
        for name, (weight, plugin) in kube_default.PLUGINS.items():
            if name not in _BY_ROW:
                raw = plugin.raw(arrays, self._class, self._may_go)
                self._base += weight * plugin.normalize(arrays, self._class, self._may_go, raw)
        self.mask, self.scores = self._may_go.copy(), self._base.copy()
        self._seen = [part.copy() for part in _what_pods_take(arrays)]
        self._compute(arrays, slice(None))

    def update(self, arrays: ClusterArrays) -> None:
        """Take what pods have changed since."""
        rows: set[int] = set()
        for seen, now in zip(self._seen, _what_pods_take(arrays), strict=True):
            places = (seen != now).ravel().nonzero()[0]
            if len(places) > _MOST_CHANGES:
                self._compute(arrays, slice(None))
                return
            rows.update((places if now.ndim == 1 else places // now.shape[1]).tolist())
        if rows:
            self._compute(arrays, sorted(rows))

    def _compute(self, arrays: ClusterArrays, rows: list[int] | slice) -> None:
        nodes, state = arrays.nodes, arrays.state
        part = arrays._replace(
            nodes=nodes._replace(allocatable=nodes.allocatable[rows], allowed_pods=nodes.allowed_pods[rows]),
            state=state._replace(
                requested=state.requested[rows],
                nonzero_requested=state.nonzero_requested[rows],
                pod_count=state.pod_count[rows],
            ),
        )
        for seen, now in zip(self._seen, _what_pods_take(part), strict=True):
            seen[rows] = now
        self.mask[rows] = self._may_go[rows] & self._fit.feasible(part, self._class)
        scores = self._base[rows]
        for name in _BY_ROW:
            weight, plugin = kube_default.PLUGINS[name]
            scores = scores + weight * plugin.raw(part, self._class, self._may_go)
        self.scores[rows] = scores


def _what_pods_take(arrays: ClusterArrays) -> tuple[Array, Array, Array]:
    state = arrays.state
    return state.requested, state.nonzero_requested, state.pod_count


def make(policy: Policy, arrays: ClusterArrays, pod_class: int, names: Sequence[str]) -> KeptScores | None:
    """Return scores to keep for a class, None where a node's score depends on more than that node.

    Args:
        policy: whose scores they are.
        arrays: with term tables as wide as this class needs them.
        pod_class: the class.
        names: the filters.
    """
    classes, tables = arrays.classes, arrays.tables
    is_known = policy.score is kube_default.score and _FIT in names and set(names) <= set(filters.REGISTRY.table)
    if not is_known or classes.ports.shape[1] or classes.gpu_milli[pod_class]:
        return None
    if any(getattr(classes, name).query.shape[1] for name in TERMS):
        return None
    scaled = (classes.taint_weight[pod_class], classes.affinity_weight[pod_class])
    return None if any(tables.weights[row].any() for row in scaled) else KeptScores(arrays, pod_class, names)
