"""Pods of a random case: those that run on its nodes, the one to place, and the namespaces they live in."""

from longshore_lab.oracle.case_affinity import add_node_affinity, make_pod_affinities, spoil_pod_affinities
from longshore_lab.oracle.case_containers import ALL_CPUS, ALL_MEMORIES, make_containers
from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_spread import add_default_spread, make_spread_constraints
from longshore_lab.oracle.case_vocabulary import (
    APPS,
    HASHES,
    MISSING_NODE,
    NAMESPACES,
    POD_HASH,
    TAINT_EFFECTS,
    TAINTS,
    TIERS,
    UNSCHEDULABLE_TAINT,
)
from longshore_lab.oracle.case_volumes import add_volumes

NAMESPACE_LABELS: dict[str, dict[str, str]] = {
    "default": {},
    "team-a": {"team": "a", "env": "prod"},
    "team-b": {"team": "b"},
    "edge": {"team": "b", "env": "test"},
}
# What the API server's DefaultTolerationSeconds plugin adds to every pod.
DEFAULT_TOLERATION_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
DELETION = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}


def make_namespaces(draw: Draw) -> list[Json]:
    """Draw the Namespace objects; now and then one is missing, as in a partial dump."""
    items = []
    for name in NAMESPACES:
        if draw() < 0.07:
            continue
        labels = {"kubernetes.io/metadata.name": name, **NAMESPACE_LABELS[name]}
        items.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    return items


def make_existing_pods(draw: Draw, plan: CasePlan, namespace: str, node_names: list[str]) -> list[Json]:
    """Draw the pods that are there already: a few templates, each with several instances, as controllers make them."""
    templates = [_draw_template(draw, plan, namespace) for _ in range(pick_count(draw, 1, 4))]
    pods = []
    for position in range(plan.pod_count):
        place, labels, spec = pick(draw, templates)
        metadata: Json = {"name": f"pod-{position}", "namespace": place, "uid": f"pod-uid-{position}"}
        if labels:
            metadata["labels"] = labels
        status: Json = {"phase": "Running"}
        corner = draw()
        if corner < 0.08:
            metadata.update(DELETION)
        elif corner < 0.12:
            status = {"phase": "Pending"}
        elif corner < 0.16 and "resources" in plan.topics:
            status = _draw_resized_status(draw, spec)
        corner = draw()
        pod_spec = dict(spec)
        if corner < 0.97:
            pod_spec["nodeName"] = node_names[int(corner / 0.97 * len(node_names))]
        elif corner < 0.99:
            pod_spec["nodeName"] = MISSING_NODE
        # Else it waits for a node itself, and must not be counted anywhere.
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec, "status": status})
    return pods


def _draw_template(draw: Draw, plan: CasePlan, namespace: str) -> tuple[str, Json, Json]:
    place = namespace if draw() < 0.7 else pick(draw, NAMESPACES)
    labels = draw_labels(draw)
    spec = make_containers(draw, plan, is_to_place=False)
    if draw() < (0.5 if "inter-pod" in plan.topics else 0.02):
        spec["affinity"] = make_pod_affinities(draw, labels, min(plan.required_share, 0.4))
        if draw() < 0.08:
            spec["affinity"] = spoil_pod_affinities(draw, spec["affinity"])
    return place, labels, spec


def _draw_resized_status(draw: Draw, spec: Json) -> Json:
    """Draw the status of a pod in the middle of an in-place resize: upstream counts the largest of all amounts."""
    container = spec["containers"][0]
    actuated = {"cpu": pick(draw, ALL_CPUS), "memory": pick(draw, ALL_MEMORIES)}
    entry = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "resources": {"requests": actuated},
        "allocatedResources": {"cpu": pick(draw, ALL_CPUS), "memory": pick(draw, ALL_MEMORIES)},
    }
    status: Json = {"phase": "Running", "containerStatuses": [entry]}
    corner = draw()
    if corner < 0.4:
        reason = "Infeasible" if corner < 0.2 else "Deferred"
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return status


def draw_labels(draw: Draw) -> dict[str, str]:
    """Draw a pod's labels from a small vocabulary; now and then it has none."""
    if draw() < 0.04:
        return {}
    labels = {"app": pick(draw, APPS)}
    if draw() < 0.6:
        labels["tier"] = pick(draw, TIERS)
    if draw() < 0.6:
        labels[POD_HASH] = pick(draw, HASHES)
    return labels


def make_pod_to_place(draw: Draw, plan: CasePlan, namespace: str, node_names: list[str]) -> tuple[Json, list[Json]]:
    """Draw the pod that the case asks about, with the objects that it refers to."""
    topics = plan.topics
    labels = draw_labels(draw)
    if labels and draw() < (0.15 if "inter-pod" in topics else 0.03):
        # No other pod is like it: the first of a group that wants to be together.
        labels["app"] = "solo"
    metadata: Json = {"name": "pod-to-place", "namespace": namespace, "uid": "pod-uid-to-place"}
    if labels:
        metadata["labels"] = labels
    spec = make_containers(draw, plan, is_to_place=True)
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
    _add_ordinary_fields(draw, plan, pod)
    if "inter-pod" in topics and draw() < 0.8:
        spec["affinity"] = make_pod_affinities(draw, labels, plan.required_share)
    if "node-affinity" in topics or draw() < 0.03:
        add_node_affinity(draw, plan, spec, node_names)
    if "spread" in topics:
        spec["topologySpreadConstraints"] = make_spread_constraints(draw, plan, labels)
    if "node-name" in topics or draw() < 0.004:
        spec["nodeName"] = MISSING_NODE if draw() < 0.3 else pick(draw, node_names)
    items = add_volumes(draw, plan, pod)
    if "default-spread" in topics or draw() < 0.02:
        items.extend(add_default_spread(draw, pod))
    return pod, items


def _add_ordinary_fields(draw: Draw, plan: CasePlan, pod: Json) -> None:
    spec = pod["spec"]
    if draw() < 0.15:
        pod["metadata"]["annotations"] = {
            "longshore.dev/latency-soft-limit-ms": pick(draw, ("20", "50")),
            "longshore.dev/latency-hard-limit-ms": pick(draw, ("80", "200")),
        }
    if draw() < 0.2:
        spec["priority"] = pick(draw, (0, 100, -10, 2_000_000_000))
    spec["schedulerName"] = "default-scheduler" if draw() < 0.9 else "longshore"
    # Spread constraints with nodeTaintsPolicy read tolerations too.
    if "taints" in plan.topics or draw() < 0.08:
        tolerations = [_draw_toleration(draw) for _ in range(pick_count(draw, 0, 3))]
    else:
        tolerations = []
    if draw() < 0.25:
        tolerations.extend(
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in DEFAULT_TOLERATION_KEYS
        )
    if tolerations:
        spec["tolerations"] = tolerations


def _draw_toleration(draw: Draw) -> Json:
    shape = draw()
    if shape < 0.06:
        # No key: every taint, or every taint with the effect.
        toleration = {"operator": "Exists"}
        if draw() < 0.6:
            toleration["effect"] = pick(draw, TAINT_EFFECTS)
        return toleration
    if shape < 0.14:
        return {"key": UNSCHEDULABLE_TAINT, "operator": "Exists", "effect": "NoSchedule"}
    key, value = pick(draw, TAINTS)
    toleration = {"key": key}
    if shape < 0.45:
        toleration["operator"] = "Exists"
    else:
        # Equal may be left out; an empty value is written as none.
        if draw() < 0.7:
            toleration["operator"] = "Equal"
        if value:
            toleration["value"] = value if draw() < 0.85 else "other"
    if draw() < 0.65:
        toleration["effect"] = pick(draw, TAINT_EFFECTS)
        if toleration["effect"] == "NoExecute" and draw() < 0.4:
            return {**toleration, "tolerationSeconds": pick(draw, (0, 60))}
    return toleration
