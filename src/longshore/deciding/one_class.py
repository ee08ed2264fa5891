"""A cluster's arrays, cut down to what one class of pods is asked about. Pure.

A cluster has thousands of counters and rows of masks, and a class reads a handful: what is copied or changed for one
pod must not cost by all the others.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, rows_of
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array

TERMS: Final = ("hard_spread", "soft_spread", "affinity", "anti_affinity", "repelled_by", "preferred")
"""The tables of `ClassArrays` by which other pods concern a pod."""
_SPREADS: Final = TERMS[:2]
_WEIGHTS: Final = ("taint_weight", "affinity_weight", "image_weight")


def narrow(classes: ClassArrays, pod_class: int) -> ClassArrays:
    """Return the classes with tables as wide as one of them needs, so that others' terms cost it nothing."""
    ports = classes.ports[:, : np.count_nonzero(classes.ports[pod_class])]
    width = np.count_nonzero(classes.preferred.query[pod_class])
    narrowed = {
        name: type(terms)._make(column[:, : np.count_nonzero(terms.query[pod_class])] for column in terms)
        for name, terms in ((name, getattr(classes, name)) for name in TERMS)
    }
    return classes._replace(ports=ports, preferred_weight=classes.preferred_weight[:, :width], **narrowed)


def one_class(encoded: Encoded, pod_class: int, rows: Array | None = None) -> tuple[Encoded, Array]:
    """Return a cluster that has one class, as number 0, and the counters that it keeps, by their numbers before.

    Args:
        encoded: the cluster.
        pod_class: the class.
        rows: the nodes that are left; None = all. Only for a class that is not concerned by pods on other nodes.
    """
    arrays, only = encoded.arrays, slice(pod_class, pod_class + 1)
    classes = narrow(arrays.classes, pod_class)
    classes = ClassArrays._make(_of_class(part, only) for part in classes)
    queries = _used(classes.ports, *(getattr(classes, name).query for name in TERMS), classes.gpu_kind_query)
    static, spreads = classes.static_masks, [getattr(classes, name) for name in _SPREADS]
    masks = _used(*static.values(), *(rows for terms in spreads for rows in (terms.affinity_mask, terms.taint_mask)))
    weights = _used(*(getattr(classes, name) for name in _WEIGHTS))
    changes: dict[str, Any] = {name: np.searchsorted(weights, getattr(classes, name)) for name in _WEIGHTS}
    changes["static_masks"] = {name: np.searchsorted(masks, rows) for name, rows in static.items()}
    for name in TERMS:
        terms = getattr(classes, name)
        changes[name] = terms._replace(query=np.searchsorted(queries, terms.query))
    for name in _SPREADS:
        terms = changes[name]
        affinity, taints = np.searchsorted(masks, terms.affinity_mask), np.searchsorted(masks, terms.taint_mask)
        changes[name] = terms._replace(affinity_mask=affinity, taint_mask=taints)
    changes |= {name: np.searchsorted(queries, getattr(classes, name)) for name in ("ports", "gpu_kind_query")}
    changes["gpu_any_query"] = np.zeros_like(arrays.classes.gpu_any_query)  # read by features alone
    every = slice(None) if rows is None else rows
    tables, nodes, state = arrays.tables, arrays.nodes, arrays.state
    cut = arrays._replace(
        classes=classes._replace(**changes),
        nodes=nodes._replace(domain=nodes.domain[:, every], zone=nodes.zone[every]),
        tables=tables._replace(
            masks=_cut(tables.masks, masks, rows),
            weights=tables.weights[weights],
            match=tables.match[queries, only],
        ),
        state=state._replace(counts=_cut(state.counts, queries, rows)),
    )
    specs = (encoded.specs[pod_class],)
    found = replace(encoded, arrays=cut, specs=specs, class_index={specs[0]: 0})
    if rows is None:
        return found, queries
    names = tuple(encoded.node_names[row] for row in rows.tolist())
    index = {name: row for row, name in enumerate(names)}
    return replace(found, arrays=rows_of(cut, rows), node_names=names, node_index=index), queries


def _of_class(part: Any, only: slice) -> Any:
    if isinstance(part, dict):
        return {name: column[only] for name, column in part.items()}
    if isinstance(part, tuple):
        return type(part)._make(column[only] for column in part)  # type: ignore[attr-defined]
    return part[only] if part.ndim else part


def _used(*numbers: Array) -> Array:
    """Return the rows that are pointed at, and the neutral one."""
    return np.unique(np.concatenate([np.zeros(1, np.int64), *(each.ravel() for each in numbers)]))


def _cut(table: Array, used: Array, rows: Array | None) -> Array:
    return table[used] if rows is None else table[np.ix_(used, rows)]
