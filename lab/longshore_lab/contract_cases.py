"""Random clusters with a pod to place, for the contract between Python and Go, and our own answers to them.

A case holds Kubernetes objects as the API server would give them, readings from outside, and the pod. They are those of
the oracle (`lab.oracle.cases`: taints, affinity, spreading, images, odd quantities), in more sizes and with what
longshore adds: annotations about power, price, latency and GPUs. An answer is what `longshore schedule` works out from
them: the features of all nodes, and the scores and the choice of every bundle. `contract/generate.py` writes some of
them to files that the tests of both sides read; the Go side must agree with every one.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import numpy as np

from longshore import filters
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.feature_table import FEATURES, PLUGIN
from longshore.core.arrays.features import features
from longshore.core.arrays.live import LiveCluster
from longshore.core.arrays.ops import Array
from longshore.core.network.bundle import Bundle
from longshore.core.words.node import NodeReadings
from longshore.core.words.pod import MIRROR_ANNOTATION, Pod
from longshore.deciding.decider import held_back_reason
from longshore.filters import static_parts
from longshore.kube import annotations, convert, wire
from longshore.kube.dump import read_objects
from longshore.policies.base import choose_node
from longshore.policies.learned import learned
from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count
from longshore_lab.oracle.case_nodes import make_nodes
from longshore_lab.oracle.case_plan import make_plan
from longshore_lab.oracle.case_pods import make_existing_pods, make_namespaces, make_pod_to_place
from longshore_lab.oracle.case_vocabulary import NAMESPACES

PLUGIN_FEATURES = tuple(feature.name for feature in FEATURES if PLUGIN in feature.where)
"""What must be equal on both sides."""
FIXED_NODES = 5
"""The number of nodes that the bundle of fixed size is for; every so many cases have it."""

_MOST_TOGETHER = 12
"""Nodes that the oracle's builders draw at once: they have no more names."""
_GPU_MODELS = ("T4", "A100", "V100M32", "G2", "unheard-of")
_NODES_OWN = (("apps/v1", "DaemonSet"), ("apps/v1", "DaemonSet"), ("v1", "Node"), ("example.org/v1", "Node"))
"""Owners whose pods belong to their node, and one that is only called so."""
_CURVES = ("90,160,210", "50,300", "80,100,120,200,350", "0,0", "120.5,121,400,410,411,412")


def make_case(seed: int, index: int) -> dict[str, Any]:
    """Make the case with this number of the series with this seed: `id`, `pod`, `items`, `readings` by node."""
    draw = Random(f"contract:{seed}:{index}").random
    plan = make_plan(draw)
    # Few constraints that reject: a case without feasible nodes says nothing.
    plan = plan._replace(required_share=plan.required_share / 3, node_count=_draw_size(draw, index))
    namespace = pick(draw, NAMESPACES)
    nodes: list[Json] = []
    while len(nodes) < plan.node_count:
        together = min(plan.node_count - len(nodes), _MOST_TOGETHER)
        nodes += [
            _renamed(node, len(nodes) + i)
            for i, node in enumerate(make_nodes(draw, plan._replace(node_count=together)))
        ]
    names = [node["metadata"]["name"] for node in nodes]
    plan = plan._replace(pod_count=plan.pod_count * max(len(nodes) // 8, 1))
    pods = [_own(pod) for pod in make_existing_pods(draw, plan, namespace, names)]
    pod, related = make_pod_to_place(draw, plan, namespace, names)
    has_gpus = draw() < 0.6
    for node in nodes:
        _annotate_node(draw, node, has_gpus=has_gpus)
    for one in (*pods, pod):
        _annotate_pod(draw, one, has_gpus=has_gpus)
    readings = {name: _draw_reading(draw) for name in names if draw() < 0.6} if draw() < 0.6 else {}
    for one in (*pods, pod):
        _tie_to_node(draw, one)
    return {
        "id": index,
        "pod": pod,
        "items": [*nodes, *pods, *make_namespaces(draw), *related],
        "readings": readings,
    }


def _draw_size(draw: Draw, index: int) -> int:
    if index % 4 == 0:
        return FIXED_NODES
    if index % 10 == 1:
        return 1
    size = draw()
    if size < 0.6:
        return pick_count(draw, 1, 12)
    return pick_count(draw, 13, 30) if size < 0.9 else pick_count(draw, 31, 60)


def _renamed(node: Json, number: int) -> Json:
    """Give a node a name that no other has, its host's name too."""
    metadata = node["metadata"]
    metadata["name"] = f"{metadata['name']}-{number}"
    if "kubernetes.io/hostname" in metadata.get("labels", {}):
        metadata["labels"]["kubernetes.io/hostname"] = metadata["name"]
    return node


def _own(pod: Json) -> Json:
    """Give a pod metadata of its own: those of one template share parts."""
    return pod | {"metadata": pod["metadata"] | {"annotations": dict(pod["metadata"].get("annotations", {}))}}


def _tie_to_node(draw: Draw, pod: Json) -> None:
    """Make some of the pods that nobody owns a DaemonSet's, or a static pod's mirror."""
    metadata, kind = pod["metadata"], draw()
    if kind > 0.4 or metadata.get("ownerReferences"):
        return
    if kind < 0.05:
        metadata["annotations"][MIRROR_ANNOTATION] = "d41d8cd9"
        return
    api_version, owner = pick(draw, _NODES_OWN)
    reference = {"apiVersion": api_version, "kind": owner, "name": "own", "uid": "own", "controller": True}
    metadata["ownerReferences"] = [reference]


def _annotate_node(draw: Draw, node: Json, *, has_gpus: bool) -> None:
    notes = node["metadata"].setdefault("annotations", {})
    if draw() < 0.5:
        notes[annotations.WATTS] = pick(draw, _CURVES)
    if draw() < 0.4:
        notes[annotations.COST_PER_HOUR] = f"{3 * draw():.3f}"
    if draw() < 0.4:
        notes[annotations.CARBON_GRAMS_PER_KWH] = str(pick_count(draw, 0, 800))
    if draw() < 0.4:
        notes[annotations.LATENCY_MS] = f"{60 * draw():.2f}"
    if draw() < 0.3:
        notes[annotations.ZONE_LATENCY_MS] = f"zone-a={5 * draw():.2f},zone-b={20 * draw():.2f},nowhere=1"
    if has_gpus and draw() < 0.8:
        notes[annotations.GPU_COUNT] = str(pick(draw, (1, 2, 4, 8, 8, 3)))
        notes[annotations.GPU_MODEL] = pick(draw, _GPU_MODELS)


def _annotate_pod(draw: Draw, pod: Json, *, has_gpus: bool) -> None:
    notes = pod["metadata"].setdefault("annotations", {})
    if draw() < 0.3:
        notes["latencySoftConstraint"] = pick(draw, ("5", "20", "25.5", "1e2"))
    if draw() < 0.3:
        notes["latencyHardConstraint"] = pick(draw, ("10", "30", "75"))
    if not has_gpus or draw() < 0.25:
        return
    if draw() < 0.6:
        notes[annotations.GPU_MILLI] = str(pick(draw, (50, 100, 250, 333, 500, 700, 950, 1000)))
        count = 1
    else:
        count = pick(draw, (1, 1, 2, 4, 8))
        notes[annotations.GPU_COUNT] = str(count)
    if draw() < 0.3:
        notes[annotations.GPU_MODEL] = pick(draw, ("A100", "T4|A100", "V100M32|G2"))
    if draw() < 0.3:
        notes[annotations.GPU_DEVICES] = ",".join(str(pick_count(draw, 0, 7)) for _ in range(count))


def _draw_reading(draw: Draw) -> Json:
    amounts = {
        "latency_ms": 80 * draw(),
        "connections": 300 * draw(),
        "traffic_bytes_per_second": 4e8 * draw(),
        "cpu_ratio": 1.2 * draw(),
        "watts": 400 * draw(),
    }
    found: Json = {name: round(amount, 3) for name, amount in amounts.items() if draw() < 0.7}
    if draw() < 0.5:
        found["zone_latency_ms"] = {f"zone-{letter}": round(10 * draw(), 3) for letter in "ab"}
    return found


def answer(
    case: Mapping[str, Any],
    bundles: Mapping[str, Bundle],
    preferences: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, Any] | None:
    """Answer a case; None where nothing can be compared: the pod is held back, or no node is feasible.

    Args:
        case: as `make_case` gives it.
        bundles: policies by name, each asked with its own weights.
        preferences: weights by term, by the name of a bundle: that one is asked with them once more.
    """
    encoded, pod = _live(case)
    if held_back_reason(encoded, pod) is not None:
        return None
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(pod))
    mask = filters.feasible(arrays, pod_class)
    if not mask.any():
        return None
    names, nodes = encoded.node_names, np.flatnonzero(mask)
    columns = features(arrays, pod_class, mask, PLUGIN_FEATURES)
    scores, choices = {}, {}
    for name, bundle in bundles.items():
        if bundle.num_nodes in (None, len(names)):
            choice = choose_node(learned(bundle), arrays, pod_class, mask, wants_devices=False)
            scores[name] = _numbers(choice.scores[nodes])
            choices[name] = names[int(choice.node)]
    return {
        "nodes": list(names),
        "feasible": [names[node] for node in nodes],
        # Columns of zeros are left out: many of them are, in most clusters.
        "features": {
            name: _numbers(column) for name, column in zip(PLUGIN_FEATURES, columns.T, strict=True) if column.any()
        },
        "scores": scores,
        "choices": choices,
        "preferred": {
            name: _numbers(learned(bundles[name], weights).score(arrays, pod_class, mask)[nodes])
            for name, weights in (preferences or {}).items()
        },
    }


def _live(case: Mapping[str, Any]) -> tuple[Encoded, Pod]:
    """Put a case into a live cluster, nodes in the order of their names; return it with the pod to place."""
    snapshot = read_objects([msgspec.Raw(msgspec.json.encode(item)) for item in case["items"]]).snapshot
    pod = convert.pod(msgspec.json.decode(msgspec.json.encode(case["pod"]), type=wire.Pod), is_incoming=True)
    cluster = LiveCluster(static_parts())
    for node in sorted(snapshot.nodes, key=lambda node: node.name):
        cluster.put_node(node)
    names = {node.name for node in snapshot.nodes}
    for other in snapshot.pods:
        # Pods of a node that is gone count here as kinds of pods that come; kube-scheduler does not show them any more.
        if other.bound_to in names:
            cluster.put_pod(other)
    cluster.put_context(
        namespaces=snapshot.namespaces,
        services=snapshot.services,
        controllers=snapshot.controllers,
        volumes=snapshot.volumes,
        claims=snapshot.claims,
    )
    cluster.put_readings({name: _reading(amounts) for name, amounts in case["readings"].items()})
    return cluster.encoded([pod]), replace(pod, bound_to="")


def _reading(amounts: Mapping[str, Any]) -> NodeReadings:
    zones = tuple(sorted(amounts.get("zone_latency_ms", {}).items()))
    return NodeReadings(
        **{name: value for name, value in amounts.items() if name != "zone_latency_ms"}, zone_latency_ms=zones
    )


def _numbers(values: Array) -> list[float]:
    """Return float32 values in the fewest digits that name them."""
    return [float(str(np.float32(value))) for value in values]
