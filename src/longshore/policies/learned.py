"""A trained policy as a scoring function over all nodes: NumPy when live, JAX when simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.feature_table import Feature
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import chosen, columns
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.network.bundle import LOAD_SCALE, Bundle, LoadScale, weight_values
from longshore.core.network.forward import LOAD, LOADS, ROW_KINDS, SCORE, BoundOp, Op, bind, is_linear_in, needed, run
from longshore.core.words.errors import InputError
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from longshore.policies.column_cache import ColumnCache
from longshore.policies.heuristics.by_node import by_node, first_fact
from longshore.policies.inputs import Reads, load, own_inputs, with_rows
from longshore.policies.row_cache import RowCache, first_layer


def learned(bundle: Bundle, preference: Mapping[str, float] | None = None, *, keeps_rows: bool = False) -> Policy:
    """Return the policy that a bundle describes.

    Args:
        bundle: one that `network.bundle.check_bundle` has let through, as every one that was read is.
        preference: weights by term, for policies that take them; None = the policy's own.
        keeps_rows: remember what the network makes of every node until it changes, where the network allows that
            (`policies.row_cache`): for many decisions on one cluster, in NumPy. The scores are the same.

    Raises:
        UnknownNameError: its prior is no policy of this installation.
        InputError: a preference that it does not take.
    """
    prior: Policy | None = None if bundle.prior is None else REGISTRY.load(bundle.prior)
    weights = weight_values(bundle, preference)
    score = _Score(
        ops=needed(bundle.ops, SCORE),
        tensors=bundle.tensors,
        features=bundle.feature_names,
        prior=prior,
        preference=weights,
        num_nodes=bundle.num_nodes,
        load=bundle.load,
    )
    return replace(
        _as_policy(bundle, score, keeps_rows=keeps_rows),
        name=bundle.name,
        filters=bundle.filters,
        version=bundle.version,
        num_nodes=bundle.num_nodes,
    )


def _as_policy(bundle: Bundle, score: "_Score", *, keeps_rows: bool) -> Policy:
    prior, weights = score.prior, score.preference
    if _looks_at_one_node(score) and not bundle.may_defer:
        return _by_own_rows(score, bundle.tie_tolerance)
    layer = first_layer(score.ops, score.tensors, len(score.features), weights) if keeps_rows else None
    kept = None
    if layer is not None:
        few = replace(score, columns=ColumnCache(score.features))
        kept = RowCache(layer, score.tensors, score.features, prior, weights, few, score.reads)
    return Policy(
        kept or score,
        # What a hybrid leaves open is decided as the policy decides that it corrects: it begins as that policy.
        devices=gpu.best_fit if prior is None else prior.devices,
        has_random_ties=prior is not None and prior.has_random_ties,
        is_order_dependent=bundle.num_nodes is not None or (prior is not None and prior.is_order_dependent),
        may_defer=bundle.may_defer,
        tie_tolerance=bundle.tie_tolerance,
    )


_ENDS = np.eye(len(LOADS), dtype=np.float32)
"""The load of clusters that are like one of `LOADS` alone."""


@dataclass(frozen=True, eq=False)
class _Score:
    """The scoring function; it hashes by identity, as JAX wants of what a program is compiled for."""

    ops: tuple[Op, ...]
    tensors: Mapping[str, Array]
    features: tuple[str, ...]
    prior: Policy | None
    preference: np.ndarray[Any, Any]
    num_nodes: int | None
    load: LoadScale | None
    columns: ColumnCache | None = None
    """What computes the features, where some of them are kept."""

    @cached_property
    def _bound(self) -> tuple[BoundOp, ...]:
        return bind(self.ops, self.tensors)

    @cached_property
    def _wanted(self) -> tuple[Feature, ...]:
        return chosen(self.features)

    @cached_property
    def reads(self) -> Reads:
        """What the network reads beside the rows."""
        return Reads.of(self.ops, self.load)

    def facts(self, arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
        """Return the scores where the pod takes its devices so: in any cluster, or by each of `LOADS`.

        float32 [1 or loads, nodes].
        """
        rows = columns(View(arrays, pod_class, arrays.nodes.is_real, known_take=take), self._wanted)
        inputs = own_inputs(rows, arrays, pod_class, self.preference)
        if self.reads.load is None:
            return run(self._bound, inputs)[SCORE][None]
        return namespace(rows).stack([run(self._bound, inputs._replace(load=end))[SCORE] for end in _ENDS])

    def __call__(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Score all nodes, float32 [nodes]."""
        if self.num_nodes is not None and feasible.shape[0] != self.num_nodes:
            raise InputError(
                f"got a cluster of {feasible.shape[0]} nodes, expected {self.num_nodes}: "
                "the policy's network is of fixed size",
                "train one of the networks that serve any number of nodes, such as deepsets",
            )
        if self.columns is None:
            rows = columns(View(arrays, pod_class, feasible), self._wanted)
        else:
            rows = self.columns.rows(arrays, pod_class, feasible)
        inputs = with_rows(rows, arrays, pod_class, feasible, self.prior, self.preference, self.reads)
        scores = run(self._bound, inputs)[SCORE]
        wanted = namespace(feasible).float32
        return scores if scores.dtype == wanted else scores.astype(wanted)


def own_rows(
    ops: Sequence[Op],
    tensors: Mapping[str, Array],
    features: Sequence[str],
    preference: Array,
    *,
    tie_tolerance: float,
    load: LoadScale | None = LOAD_SCALE,
) -> Policy:
    """Return a network that reads the nodes' own rows alone as a rule that looks at one node at a time."""
    score = _Score(tuple(ops), tensors, tuple(features), prior=None, preference=preference, num_nodes=None, load=load)
    return _by_own_rows(score, tie_tolerance)


def _by_own_rows(score: _Score, tie_tolerance: float) -> Policy:
    scale = score.reads.load
    return by_node(score.facts, first_fact if scale is None else partial(_by_load, scale), tie_tolerance=tie_tolerance)


def _by_load(scale: LoadScale, facts: Array, _feasible: Array, arrays: ClusterArrays) -> Array:
    """Rank by the scores by each of `LOADS`, each by how much the cluster is so."""
    total = 0.0
    for share, scores in zip(load(arrays, scale), facts, strict=True):
        total = total + share * scores
    return total


def _looks_at_one_node(score: _Score) -> bool:
    has_own_rows = all(feature.is_own for feature in chosen(score.features))
    is_by_rows = all(op.kind in ROW_KINDS for op in score.ops) and (
        score.reads.load is None or is_linear_in(LOAD, score.ops)
    )
    return has_own_rows and score.prior is None and is_by_rows
