"""A random cluster and random pods to place on it one after the other, as objects that an API server takes. Pure.

Nodes and what runs on them come from one case of the contract between Python and Go (`lab.contract_cases`), the pods to
place from the cases after it, each with the objects that it refers to.
"""

from dataclasses import dataclass
from typing import Any

from longshore.kube import annotations
from longshore_lab.contract_cases import make_case
from longshore_lab.oracle.case_vocabulary import MISSING_NODE
from longshore_lab.proof.live_case import Json, LiveCase, live_case, why_not_live

_PREFIX = "same-"
_DEVICE_NOTES = (annotations.GPU_COUNT, annotations.GPU_MILLI, annotations.GPU_MODEL, annotations.GPU_DEVICES)
_CASES = 1000
"""Cases of a series that one round may use."""


@dataclass(frozen=True)
class Round:
    """What is written to the API server for one round."""

    index: int
    objects: LiveCase
    """Everything but the pods to place."""
    pods: list[Json]
    """In their order, without a scheduler's name."""
    readings: dict[str, Json]
    """What is measured on nodes, by name; the same name has the same readings in all rounds."""


def make_round(seed: int, index: int, num_pods: int) -> Round:
    """Make a round."""
    first = index * _CASES
    ground = make_case(seed, first + 3)
    items = _with_clear_devices([item for item in ground["items"] if _may_be_there(item)])
    waiting: list[Json] = []
    number = first + 4
    while len(waiting) < num_pods:
        case = make_case(seed, number)
        number += 1
        if why_not_live(case) is None:
            items += [item for item in case["items"] if item["kind"] not in ("Node", "Pod", "Namespace")]
            waiting.append(_renamed(case["pod"], len(waiting)))
    live = live_case({"id": index, "pod": ground["pod"], "items": [*_distinct(items), *waiting]})
    names = {pod["metadata"]["name"] for pod in waiting}
    pods = [thing for thing in live.objects if _is_one_of(thing, names)]
    objects = LiveCase(
        live.index,
        live.pod,
        [thing for thing in live.objects if not _is_one_of(thing, names)],
        live.statuses,
        live.terminating,
    )
    pods.sort(key=lambda pod: int(pod["metadata"]["name"].removeprefix(_PREFIX)))
    nodes = [item["metadata"]["name"] for item in items if item["kind"] == "Node"]
    # A file that names no node of the cluster is taken for a wrong one: one is always named, of which nothing is known.
    return Round(index, objects, pods, ground["readings"] or {nodes[0]: {}})


def _may_be_there(item: Json) -> bool:
    """Leave pods of a missing node out: kube-scheduler never shows them, and to us they are kinds of pods that come."""
    return bool(item["kind"] != "Pod" or item["spec"].get("nodeName") != MISSING_NODE)


def _with_clear_devices(items: list[Json]) -> list[Json]:
    """Leave one pod with GPUs on every node: the others ask for none any more.

    Which devices a pod holds that names none, or none that it can hold, is a guess. Of several such pods on a node it
    depends on the order in which they were seen, and that is not the same for two watches.
    """
    holding: set[str] = set()

    def cleared(item: Json) -> Json:
        notes = item["metadata"].get("annotations", {})
        node = item["spec"].get("nodeName") if item["kind"] == "Pod" else None
        if not node or not any(key in notes for key in _DEVICE_NOTES):
            return item
        if node not in holding:
            holding.add(node)
            return item
        others = {key: text for key, text in notes.items() if key not in _DEVICE_NOTES}
        return {**item, "metadata": {**item["metadata"], "annotations": others}}

    return [cleared(item) for item in items]


def _distinct(items: list[Json]) -> list[Json]:
    """Return the first object of every name."""
    found: dict[tuple[Any, ...], Json] = {}
    for item in items:
        key = (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        found.setdefault(key, item)
    return list(found.values())


def _renamed(pod: Json, number: int) -> Json:
    return {**pod, "metadata": {**pod["metadata"], "name": f"{_PREFIX}{number}"}}


def _is_one_of(thing: Json, names: set[str]) -> bool:
    return bool(thing["kind"] == "Pod" and thing["metadata"]["name"] in names)
