"""What one of kube-default's plugins says about the pod named `new`, by node name."""

from typing import NamedTuple

import numpy as np

from longshore.policies.heuristics.kube_default import PLUGINS
from support.builders import NodeBuilder, PodBuilder, make_snapshot
from support.compiling import encode


class Scored(NamedTuple):
    """Scores of the feasible nodes."""

    raw: dict[str, int]
    normalized: dict[str, int]


def score(
    plugin_name: str, *parts: NodeBuilder | PodBuilder, infeasible: tuple[str, ...] = (), **fields: object
) -> Scored:
    """Score the pod `new` on all nodes but the infeasible ones."""
    snapshot = make_snapshot(*parts, **fields)
    new = next(pod for pod in snapshot.pods if pod.name == "new")
    encoded = encode(snapshot, padded_nodes=len(snapshot.nodes) + 1)
    names = [name for name in encoded.node_names if name not in infeasible]
    nodes = [encoded.node_index[name] for name in names]
    mask = np.zeros(len(snapshot.nodes) + 1, bool)
    mask[nodes] = True
    _, plugin = PLUGINS[plugin_name]
    raw = plugin.raw(encoded.arrays, np.asarray(encoded.class_of(new)), mask)
    normalized = plugin.normalize(encoded.arrays, np.asarray(encoded.class_of(new)), mask, raw)
    return Scored(*(dict(zip(names, amounts[nodes].tolist(), strict=True)) for amounts in (raw, normalized)))
