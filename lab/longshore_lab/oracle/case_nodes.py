"""Nodes of a random case: allocatable quantities in every notation, labels, taints, images, cordons."""

from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count, pick_distinct
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_vocabulary import (
    BETA_REGION,
    BETA_ZONE,
    CORES,
    DISKS,
    HOSTNAME,
    HUGE_PAGES,
    IMAGES,
    NODE_NAMES,
    RACKS,
    REGION,
    REGIONS,
    TAINT_EFFECTS,
    TAINTS,
    UNSCHEDULABLE_TAINT,
    ZONE,
    ZONES,
)

NODE_CPUS = ("4", "4", "8", "3500m", "16", "7910m", "1e1", "64", "2.5")
SMALL_NODE_CPUS = ("0.5", "1", "2", "250m", "1930m")
NODE_MEMORIES = ("8Gi", "16Gi", "31457280Ki", "8589934592", "1e10", "16G", "20000Mi", "1Ti", "6.5Gi")
SMALL_NODE_MEMORIES = ("1e9", "2000Mi", "4194304Ki", "512Mi", "4G")
NODE_DISKS = ("100Gi", "50Gi", "2e10", "1000M", "0")
NODE_POD_LIMITS = ("1", "2", "2", "3", "4", "6", "0")


def make_nodes(draw: Draw, plan: CasePlan) -> list[Json]:
    """Draw all nodes of a case, in an order that is not that of their names."""
    zones = ZONES[: pick_count(draw, 1, 3)]
    images = pick_distinct(draw, IMAGES, pick_count(draw, 2, 6)) if "images" in plan.topics or draw() < 0.1 else []
    shared = _draw_allocatable(draw, plan) if plan.has_equal_nodes else None
    start = int(draw() * len(NODE_NAMES))
    nodes = []
    for position in range(plan.node_count):
        name = NODE_NAMES[(start + position) % len(NODE_NAMES)]
        allocatable = dict(shared) if shared is not None else _draw_allocatable(draw, plan)
        node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"node-uid-{position}"}}
        labels = _draw_labels(draw, plan, name, zones)
        if labels:
            node["metadata"]["labels"] = labels
        node["spec"] = _draw_spec(draw, plan)
        node["status"] = _draw_status(draw, plan, allocatable, images)
        nodes.append(node)
    return nodes


def leave_one_open(draw: Draw, plan: CasePlan, nodes: list[Json]) -> None:
    """Close all nodes but one, each by a different means, and make room on the one that stays open."""
    chosen = int(draw() * len(nodes))
    for position, node in enumerate(nodes):
        spec, status = node["spec"], node["status"]
        if position == chosen:
            spec.pop("taints", None)
            spec.pop("unschedulable", None)
            status["allocatable"] = {
                **{name: "64Mi" if name == HUGE_PAGES else "16" for name in plan.extended},
                "cpu": "64",
                "memory": "256Gi",
                "ephemeral-storage": "1Ti",
                "pods": "110",
            }
            continue
        means = draw()
        if means < 0.3:
            spec["taints"] = [{"key": "closed", "effect": "NoSchedule"}]
        elif means < 0.45:
            spec["taints"] = [
                {"key": "soft", "value": "yes", "effect": "PreferNoSchedule"},
                {"key": "closed", "value": "now", "effect": "NoExecute"},
            ]
        elif means < 0.65:
            spec["unschedulable"] = True
        else:
            status["allocatable"] = {**status.get("allocatable", {}), "pods": "0"}


def _draw_allocatable(draw: Draw, plan: CasePlan) -> Json:
    is_about_resources = "resources" in plan.topics
    small_share = 0.3 if is_about_resources else 0.08
    allocatable = {
        "cpu": pick(draw, SMALL_NODE_CPUS if draw() < small_share else NODE_CPUS),
        "memory": pick(draw, SMALL_NODE_MEMORIES if draw() < small_share else NODE_MEMORIES),
        "pods": "110",
    }
    if draw() < (0.15 if is_about_resources else 0.04):
        allocatable["pods"] = pick(draw, NODE_POD_LIMITS)
    if draw() < 0.5:
        allocatable["ephemeral-storage"] = pick(draw, NODE_DISKS)
    for name in plan.extended:
        if draw() < 0.75:
            allocatable[name] = (
                pick(draw, ("8Mi", "1Gi", "0")) if name == HUGE_PAGES else pick(draw, ("1", "2", "8", "0"))
            )
    corner = draw()
    if corner < 0.012:
        allocatable["cpu"] = "0"
    elif corner < 0.024:
        allocatable["memory"] = "0"
    elif corner < 0.036:
        del allocatable["cpu"]
    elif corner < 0.048:
        del allocatable["memory"]
    elif corner < 0.054:
        del allocatable["pods"]
    elif corner < 0.06:
        allocatable["cpu"] = allocatable["memory"] = "0"
    return allocatable


def _draw_labels(draw: Draw, plan: CasePlan, name: str, zones: tuple[str, ...]) -> dict[str, str]:
    if plan.has_full_labels:
        labels = {HOSTNAME: name, ZONE: pick(draw, zones), REGION: pick(draw, REGIONS), "rack": pick(draw, RACKS)}
    else:
        labels = _draw_partial_labels(draw, name, zones)
        if not labels:
            return {}
    if draw() < 0.6:
        labels["disk"] = pick(draw, DISKS)
    if draw() < 0.5:
        labels["cores"] = pick(draw, CORES)
    if "volumes" in plan.topics:
        _add_volume_labels(draw, labels, zones)
    return labels


def _draw_partial_labels(draw: Draw, name: str, zones: tuple[str, ...]) -> dict[str, str]:
    if draw() < 0.03:
        return {}
    labels = {}
    corner = draw()
    if corner < 0.9:
        labels[HOSTNAME] = name
    elif corner < 0.95:
        labels[HOSTNAME] = "shared-host"
    corner = draw()
    if corner < 0.8:
        labels[ZONE] = pick(draw, zones)
    elif corner < 0.88:
        labels[ZONE] = ""
    if draw() < 0.6:
        labels[REGION] = pick(draw, REGIONS)
    if draw() < 0.5:
        labels["rack"] = pick(draw, RACKS)
    return labels


def _add_volume_labels(draw: Draw, labels: dict[str, str], zones: tuple[str, ...]) -> None:
    if draw() < 0.25:
        labels[BETA_ZONE] = labels[ZONE] if ZONE in labels and draw() < 0.7 else pick(draw, zones)
        if draw() < 0.4:
            labels.pop(ZONE, None)
    if draw() < 0.15:
        labels[BETA_REGION] = pick(draw, REGIONS)
    if draw() < 0.12:
        for key in (ZONE, REGION, BETA_ZONE, BETA_REGION):
            labels.pop(key, None)


def _draw_spec(draw: Draw, plan: CasePlan) -> Json:
    spec: Json = {}
    is_about_taints = "taints" in plan.topics
    taints: dict[tuple[str, str], Json] = {}
    if draw() < (0.65 if is_about_taints else 0.05):
        for _ in range(pick(draw, (1, 1, 2, 3))):
            key, value = pick(draw, TAINTS)
            effect = pick(draw, TAINT_EFFECTS) if draw() < 1.6 * plan.required_share else "PreferNoSchedule"
            # A node may carry one taint for each pair of key and effect.
            taints[key, effect] = (
                {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
            )
    if draw() < (0.12 if is_about_taints else 0.02):
        spec["unschedulable"] = True
        if draw() < 0.6:
            taints[UNSCHEDULABLE_TAINT, "NoSchedule"] = {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}
    elif is_about_taints and draw() < 0.05:
        taints[UNSCHEDULABLE_TAINT, "NoSchedule"] = {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}
    if taints:
        spec["taints"] = list(taints.values())
    return spec


def _draw_status(draw: Draw, plan: CasePlan, allocatable: Json, images: list[tuple[tuple[str, ...], int]]) -> Json:
    if draw() < 0.004:
        # A node that has registered and not reported yet.
        return {}
    capacity = dict(allocatable)
    if draw() < 0.3:
        # Capacity is never read by the scheduler: a wrong one must change nothing.
        capacity["cpu"], capacity["memory"] = "128", "1Ti"
    status: Json = {"capacity": capacity, "allocatable": allocatable}
    if images:
        held = [{"names": list(names), "sizeBytes": size} for names, size in images if draw() < 0.55]
        if draw() < 0.05:
            held.append({"sizeBytes": 777_000_000})
        if held:
            status["images"] = held
    return status
