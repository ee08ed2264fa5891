"""Spreading of random pods: their own constraints, or the Services and controllers that default spreading reads."""

from longshore_lab.oracle.case_affinity import make_label_selector, merge_label_keys, selector_keys
from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count, pick_distinct, pick_each
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_vocabulary import NAMESPACES, POD_HASH, TOPOLOGY_KEYS

POLICIES = ("Honor", "Ignore")
OWNER_API_VERSIONS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "ReplicationController": "v1"}
OWNER_KINDS = ("ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController")


def make_spread_constraints(draw: Draw, plan: CasePlan, labels: Json) -> list[Json]:
    """Draw one to three constraints, unique by topology key and action as validation asks."""
    constraints: dict[tuple[str, str], Json] = {}
    for _ in range(pick(draw, (1, 1, 1, 2, 2, 3))):
        action = "DoNotSchedule" if draw() < plan.required_share * 1.2 else "ScheduleAnyway"
        key = pick(draw, TOPOLOGY_KEYS)
        constraints[key, action] = _draw_constraint(draw, key, action, labels)
    return list(constraints.values())


def _draw_constraint(draw: Draw, key: str, action: str, labels: Json) -> Json:
    constraint: Json = {"maxSkew": pick(draw, (1, 1, 1, 2, 3)), "topologyKey": key, "whenUnsatisfiable": action}
    selector = (
        {"matchLabels": {"app": labels["app"]}} if labels and draw() < 0.35 else make_label_selector(draw, labels)
    )
    if selector is not None:
        constraint["labelSelector"] = selector
        if draw() < 0.25:
            free = [name for name in (POD_HASH, POD_HASH, "tier", "absent") if name not in selector_keys(selector)]
            keys = list(dict.fromkeys(pick_distinct(draw, free, pick_count(draw, 1, 2))))
            if keys:
                constraint["matchLabelKeys"] = keys
                # Pods stored before 1.34 have the list alone; the scheduler itself then adds the requirements.
                if draw() < 0.8:
                    merge_label_keys(selector, keys, "In", labels)
    if action == "DoNotSchedule" and draw() < 0.3:
        constraint["minDomains"] = pick_count(draw, 1, 5)
    if draw() < 0.3:
        constraint["nodeAffinityPolicy"] = pick(draw, POLICIES)
    if draw() < 0.35:
        constraint["nodeTaintsPolicy"] = pick(draw, POLICIES)
    return constraint


def add_default_spread(draw: Draw, pod: Json) -> list[Json]:
    """Own the pod by a controller, match it by Services, or both; return those objects."""
    metadata = pod["metadata"]
    namespace, labels = metadata["namespace"], metadata.get("labels", {})
    items = []
    if draw() < 0.6:
        items = [_draw_service(draw, position, namespace, labels) for position in range(pick_count(draw, 1, 3))]
    if not items or draw() < 0.6:
        owner = _draw_controller(draw, namespace, labels)
        items.append(owner)
        metadata["ownerReferences"] = _draw_owner_references(draw, owner)
    return items


def _draw_service(draw: Draw, position: int, namespace: str, labels: Json) -> Json:
    spec: Json = {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}
    shape = draw()
    if shape < 0.75 and labels:
        spec["selector"] = dict(pick_each(draw, list(labels.items()), 0.6)) or dict(labels)
    elif shape < 0.9:
        spec["selector"] = {"app": pick(draw, ("web", "other"))}
    # Else no selector: such a Service matches no pod.
    place = namespace if draw() < 0.9 else pick(draw, NAMESPACES)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"service-{position}", "namespace": place},
        "spec": spec,
    }


def _draw_controller(draw: Draw, namespace: str, labels: Json) -> Json:
    kind = pick(draw, OWNER_KINDS)
    # Mostly the pod's own labels; a pod that was relabelled since keeps its controller for a moment.
    wanted = dict(pick_each(draw, list(labels.items()), 0.8)) if labels and draw() < 0.9 else {}
    wanted = wanted or {"app": "web"}
    if kind == "ReplicationController":
        selector: Json = wanted
    else:
        selector = {"matchLabels": wanted}
        shape = draw()
        if shape < 0.3:
            key = pick(draw, list(wanted))
            requirement: Json = {"key": key, "operator": pick(draw, ("In", "Exists", "NotIn"))}
            if requirement["operator"] != "Exists":
                requirement["values"] = [wanted[key], "other"] if requirement["operator"] == "In" else ["other"]
            selector["matchExpressions"] = [requirement]
            if shape < 0.15:
                del selector["matchLabels"]
    return {
        "apiVersion": OWNER_API_VERSIONS[kind],
        "kind": kind,
        "metadata": {"name": f"owner-{kind.lower()}", "namespace": namespace, "uid": "owner-uid"},
        "spec": {"replicas": 3, "selector": selector},
    }


def _draw_owner_references(draw: Draw, owner: Json) -> list[Json]:
    reference: Json = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": "owner-uid",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    shape = draw()
    if shape < 0.08:
        reference["controller"] = False
    elif shape < 0.14:
        # The same kind in another group is another kind: upstream reads no selector from it.
        reference["apiVersion"] = "example.com/v1"
    if shape < 0.9:
        return [reference]
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "settings-uid"}
    return [plain, reference]
