"""Our answer to a case beside upstream's: feasible set, reasons and every plugin's scores."""

from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from longshore.core.arrays.encode import Encoded, encode
from longshore.core.words.decision import Rejection
from longshore.filters import feasible, judge, static_parts
from longshore.kube import convert, wire
from longshore.kube.dump import read_objects
from longshore.policies.heuristics.kube_default import PLUGINS
from longshore_lab.oracle.program import Answer, Status


class Case(msgspec.Struct):
    """A pod to place and the objects around it."""

    id: int
    pod: wire.Pod
    items: list[msgspec.Raw]


class OwnAnswer(NamedTuple):
    """What we say about a case."""

    rejections: dict[str, Rejection]
    feasible: tuple[str, ...]
    raw: dict[str, dict[str, int]]
    normalized: dict[str, dict[str, int]]
    totals: dict[str, int]


_DECODER = msgspec.json.Decoder(Case)


def encode_case(data: bytes) -> tuple[Encoded, int]:
    """Read a case; return the cluster and the class of the pod to place."""
    case = _DECODER.decode(data)
    snapshot = read_objects(case.items).snapshot
    pod = convert.pod(case.pod, is_incoming=True)
    bound = tuple(other for other in snapshot.pods if other.bound_to)
    encoded = encode(replace(snapshot, pods=(*bound, pod)), static_parts())
    return encoded, encoded.class_of(pod)


def answer(data: bytes) -> OwnAnswer:
    """Answer a case by our own code."""
    encoded, index = encode_case(data)
    arrays, pod_class = encoded.arrays, np.asarray(index)
    mask = feasible(arrays, pod_class)
    nodes = np.flatnonzero(mask)
    names = tuple(encoded.node_names[node] for node in nodes)
    raw, normalized = {}, {}
    totals = np.zeros(len(mask), np.int64)
    for plugin_name, (weight, plugin) in PLUGINS.items():
        amounts = plugin.raw(arrays, pod_class, mask)
        scores = plugin.normalize(arrays, pod_class, mask, amounts)
        totals = totals + weight * scores
        raw[plugin_name] = dict(zip(names, amounts[nodes].tolist(), strict=True))
        normalized[plugin_name] = dict(zip(names, scores[nodes].tolist(), strict=True))
    why = judge(encoded, index)[1] if len(nodes) < len(encoded.node_names) else {}
    return OwnAnswer(why, names, raw, normalized, dict(zip(names, totals[nodes].tolist(), strict=True)))


def difference(own: OwnAnswer, theirs: Answer) -> str | None:
    """Say where the answers differ first, None if nowhere."""
    if theirs.error is not None:
        return f"upstream could not answer: {theirs.error}"
    for node, status in theirs.nodes.items():
        found = _verdict_difference(own.rejections.get(node), status)
        if found:
            return f"node `{node}`: {found}"
    if set(own.feasible) != {node for node, status in theirs.nodes.items() if status is None}:
        return f"feasible nodes: ours {sorted(own.feasible)}, upstream's otherwise"
    return _score_difference(own, theirs)


def _verdict_difference(own: Rejection | None, theirs: Status | None) -> str | None:
    if own is None or theirs is None:
        return None if own is None and theirs is None else f"ours {own}, upstream {theirs}"
    code = "Unschedulable" if own.is_resolvable else "UnschedulableAndUnresolvable"
    # Upstream walks extended resources in map order, so that only the set of reasons is defined.
    ours = (own.filter, code, sorted(own.reasons))
    if ours != (theirs.plugin, theirs.code, sorted(theirs.reasons)):
        return f"ours {ours}, upstream {(theirs.plugin, theirs.code, sorted(theirs.reasons))}"
    return None


def _score_difference(own: OwnAnswer, theirs: Answer) -> str | None:
    for plugin in PLUGINS:
        scores = theirs.scores.get(plugin)
        if scores is None:  # upstream skips a plugin that has nothing to say: it must be worth nothing in ours
            if any(own.normalized[plugin].values()):
                return f"{plugin}: upstream skips it, ours {own.normalized[plugin]}"
            continue
        for kind, ours, upstream in (("raw", own.raw, scores.raw), ("normalised", own.normalized, scores.normalized)):
            if ours[plugin] != upstream:
                return f"{plugin} {kind}: ours {ours[plugin]}, upstream {upstream}"
    for plugin in theirs.scores.keys() - PLUGINS.keys():  # DynamicResources: 0 without claims
        if any(theirs.scores[plugin].normalized.values()):
            return f"upstream scores by `{plugin}`, which we do not have"
    return None if own.totals == theirs.totals else f"totals: ours {own.totals}, upstream {theirs.totals}"
