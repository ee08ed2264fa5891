"""What one filter says about the pod named `new`, in names and words."""

from longshore import filters
from longshore.filters.base import Rejection
from support.builders import NodeBuilder, PodBuilder, make_snapshot
from support.compiling import encode

__all__ = ["judge", "reasons", "refused"]


def judge(filter_name: str, *parts: NodeBuilder | PodBuilder, **fields: object) -> dict[str, Rejection]:
    """Return the nodes that the filter keeps from the pod `new`, each with its rejection."""
    snapshot = make_snapshot(*parts, **fields)
    new = next(pod for pod in snapshot.pods if pod.name == "new")
    encoded = encode(snapshot, padded_nodes=len(snapshot.nodes) + 1)
    return filters.judge(encoded, encoded.class_of(new), (filter_name,))[1]


def refused(filter_name: str, *parts: NodeBuilder | PodBuilder, **fields: object) -> set[str]:
    """Return the names of the nodes that the filter keeps from the pod `new`."""
    return set(judge(filter_name, *parts, **fields))


def reasons(filter_name: str, *parts: NodeBuilder | PodBuilder, **fields: object) -> dict[str, tuple[str, ...]]:
    """Return the nodes that the filter keeps from the pod `new`, each with the reasons."""
    return {node: found.reasons for node, found in judge(filter_name, *parts, **fields).items()}
