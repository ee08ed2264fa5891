"""Where pods of one class may go and how nodes score for them, kept between decisions.

A placement changes one node. What depends on that node alone is computed again for its row, by the same code as for all
rows; what depends on other nodes too (spread, affinity, scores that are brought to scale over the nodes) is computed
anew each time, and most classes have none of it. That serves policies whose score of a node depends on that node alone
(`Policy.is_local`), and kube-default, plugin by plugin.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays, rows_of
from longshore.core.arrays.ops import Array
from longshore.filters.base import Reach
from longshore.policies.base import Policy
from longshore.policies.changes import NodeChanges
from longshore.policies.heuristics import kube_default
from longshore.policies.plugins.base import ScorePlugin

_FIT: Final = "NodeResourcesFit"
"""The one filter that looks at the pods of every node, whatever the class."""
_BY_ROW: Final = (_FIT, "NodeResourcesBalancedAllocation")
"""Score plugins that read nothing but the node."""
_MANY: Final = 4
"""Where more than one in so many nodes changed, all are computed again: picking them out costs as much."""


class _Parts(NamedTuple):
    """What a policy's scores are made of, for one class."""

    base: Array | int
    """[nodes]; what no pod changes."""
    of_rows: Callable[[ClusterArrays, Array, Array], Array]
    """(part of the nodes, class, their mask) -> scores that depend on the node alone."""
    anew: tuple[tuple[int, ScorePlugin], ...] = ()
    """What depends on other nodes, with its weights."""


class KeptScores:
    """Feasible nodes and scores for pods of one class, for as long as only the state changes."""

    def __init__(
        self, policy: Policy, changes: NodeChanges, arrays: ClusterArrays, pod_class: int, names: Sequence[str]
    ) -> None:
        """Compute all of it.

        Args:
            policy: whose scores they are; one of which `can_keep` is true.
            changes: of the cluster; it has just looked at it.
            arrays: with term tables as wide as this class needs them.
            pod_class: the class.
            names: the filters.
        """
        self._class, self._changes, self._tick = np.asarray(pod_class), changes, changes.tick
        self._fit = filters.load((_FIT,))[0][1] if _FIT in names else None
        reaches = {name: unit.reach(arrays.classes, pod_class) for name, unit in filters.load(tuple(names))}
        static = tuple(name for name in names if reaches[name] is Reach.NODE)
        self._others = tuple(name for name in names if name not in (_FIT, *static))
        self._may_go = filters.feasible(arrays, self._class, static)
        self._parts = _parts_of(policy, arrays, self._class, self._may_go)
        self._mask = self._may_go.copy()
        self._scores: Array = self._renewed(arrays, slice(None))

    @property
    def num_bytes(self) -> int:
        """What it takes."""
        return int(2 * self._mask.nbytes + 2 * self._scores.nbytes)

    def look(self, arrays: ClusterArrays, allowed: Array | None = None) -> tuple[Array, Array]:
        """Return the mask and the scores as they are now; `changes` has looked at the cluster.

        Args:
            arrays: the cluster.
            allowed: nodes that may take the pod, beside what the filters say [nodes] bool; None = all.
        """
        rows = self._changes.since(self._tick)
        if len(rows) * _MANY > len(self._mask):
            self._scores = self._renewed(arrays, slice(None))
        elif len(rows):
            # One node is the usual case, and a slice of it costs NumPy no copy.
            index: Any = slice(int(rows[0]), int(rows[0]) + 1) if len(rows) == 1 else rows
            self._scores[index] = self._renewed(arrays, index)
        self._tick = self._changes.tick
        mask, scores = self._mask, self._scores
        if self._others:
            mask = mask & filters.feasible(arrays, self._class, self._others)
        if allowed is not None:
            mask = mask & allowed
        for weight, plugin in self._parts.anew:
            raw = plugin.raw(arrays, self._class, mask)
            scores = scores + weight * plugin.normalize(arrays, self._class, mask, raw)
        return mask, scores

    def _renewed(self, arrays: ClusterArrays, index: Any) -> Array:
        """Write the mask of some rows, and return their scores."""
        part = rows_of(arrays, index)
        may_go = self._may_go[index]
        fits = may_go if self._fit is None else may_go & self._fit.feasible(part, self._class)
        self._mask[index] = fits
        base = self._parts.base
        return (base if isinstance(base, int) else base[index]) + self._parts.of_rows(part, self._class, fits)


def can_keep(policy: Policy) -> bool:
    """Say whether it is known what a policy's scores depend on."""
    return policy.is_local or policy.score is kube_default.score


def _parts_of(policy: Policy, arrays: ClusterArrays, pod_class: Array, may_go: Array) -> _Parts:
    if policy.is_local:
        return _Parts(0, policy.score)
    base: Array = np.zeros(may_go.shape, np.int64)
    anew = []
    for name, (weight, plugin) in kube_default.PLUGINS.items():
        if name in _BY_ROW:
            continue
        if _depends_on_others(name, arrays, pod_class):
            anew.append((weight, plugin))
        else:
            raw = plugin.raw(arrays, pod_class, may_go)
            base = base + weight * plugin.normalize(arrays, pod_class, may_go, raw)
    return _Parts(base, _kube_default_rows, tuple(anew))


def _kube_default_rows(part: ClusterArrays, pod_class: Array, mask: Array) -> Array:
    scores: Array = np.zeros(mask.shape, np.int64)
    for name in _BY_ROW:
        weight, plugin = kube_default.PLUGINS[name]
        scores = scores + weight * plugin.raw(part, pod_class, mask)
    return scores


def _depends_on_others(plugin: str, arrays: ClusterArrays, pod_class: Array) -> bool:
    """Say whether a plugin counts pods of other nodes for the class, or brings its weights to scale over the nodes."""
    classes, weights = arrays.classes, arrays.tables.weights
    match plugin:
        case "PodTopologySpread":
            return bool(classes.soft_spread.query.shape[1])
        case "InterPodAffinity":
            return bool(classes.preferred.query.shape[1])
        case "TaintToleration":
            return bool(weights[classes.taint_weight[pod_class]].any())
        case "NodeAffinity":
            return bool(weights[classes.affinity_weight[pod_class]].any())
    return False
