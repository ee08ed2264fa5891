"""Affinities of random pods: node selectors and terms, pod affinity terms, label selectors.

matchLabelKeys and mismatchLabelKeys come in the form in which the API server stores them: the list stays, and for each
key that the pod carries a requirement has been appended to the term's labelSelector.
"""

from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count, pick_distinct
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_vocabulary import (
    DISKS,
    HOSTNAME,
    MISSING_NODE,
    NAMESPACES,
    POD_HASH,
    POD_LABEL_KEYS,
    POD_LABEL_VALUES,
    RACKS,
    REGION,
    REGIONS,
    TOPOLOGY_KEYS,
    ZONE,
    ZONES,
)

SELECTOR_OPERATORS = ("In", "In", "In", "NotIn", "Exists", "DoesNotExist")
NODE_LABEL_VALUES = {
    ZONE: (*ZONES, ZONES[0], ""),
    REGION: REGIONS,
    "disk": (*DISKS, DISKS[0], "nvme"),
    "rack": RACKS,
    "cores": ("4", "8", "16"),
    "absent": ("x",),
}
NODE_LABEL_KEYS = (ZONE, ZONE, "disk", "disk", "cores", "cores", REGION, "rack", "absent", HOSTNAME)
WEIGHTS = (1, 1, 2, 5, 10, 50, 99, 100)
GREATER_LESS_VALUES = ("4", "7", "8", "15", "0", "9223372036854775807")
# Bounds that upstream cannot read: what is no number, and numbers that are no label values.
UNREADABLE_BOUNDS = ("many", "-1")
# Pods stored by older API servers may have values that no label can have.
UNREADABLE_VALUE = "no label!"


def make_label_selector(draw: Draw, labels: Json) -> Json | None:
    """Draw a label selector: none (matches nothing), empty (matches everything), or one that often fits the labels."""
    shape = draw()
    if shape < 0.05:
        return None
    if shape < 0.12:
        return {}
    selector: Json = {}
    if shape < 0.7:
        keys = pick_distinct(draw, POD_LABEL_KEYS[2:], pick(draw, (1, 1, 1, 2)))
        selector["matchLabels"] = {
            key: labels[key] if key in labels and draw() < 0.7 else pick(draw, POD_LABEL_VALUES[key]) for key in keys
        }
    if shape > 0.62:
        selector["matchExpressions"] = [_draw_requirement(draw) for _ in range(pick(draw, (1, 1, 2)))]
    return selector


def _draw_requirement(draw: Draw) -> Json:
    key = pick(draw, POD_LABEL_KEYS)
    operator = pick(draw, SELECTOR_OPERATORS)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {
        "key": key,
        "operator": operator,
        "values": pick_distinct(draw, POD_LABEL_VALUES[key], pick_count(draw, 1, 2)),
    }


def selector_keys(selector: Json) -> set[str]:
    """Name the label keys that a selector already speaks of."""
    keys = set(selector.get("matchLabels", ()))
    keys.update(requirement["key"] for requirement in selector.get("matchExpressions", ()))
    return keys


def merge_label_keys(selector: Json, keys: list[str], operator: str, labels: Json) -> None:
    """Append the requirements that the API server makes of matchLabelKeys (`In`) or mismatchLabelKeys (`NotIn`)."""
    for key in keys:
        if key in labels:
            requirement = {"key": key, "operator": operator, "values": [labels[key]]}
            selector.setdefault("matchExpressions", []).append(requirement)


def make_pod_affinity_term(draw: Draw, labels: Json) -> Json:
    """Draw one term of pod affinity or anti-affinity for a pod with the given labels."""
    if labels and draw() < 0.3:
        # The usual one: together with, or away from, pods of its own kind.
        return {"topologyKey": pick(draw, TOPOLOGY_KEYS[:14]), "labelSelector": {"matchLabels": {"app": labels["app"]}}}
    term: Json = {"topologyKey": pick(draw, TOPOLOGY_KEYS)}
    selector = make_label_selector(draw, labels)
    if selector is not None:
        term["labelSelector"] = selector
        if draw() < 0.18:
            _add_label_keys(draw, term, selector, labels)
    if draw() < 0.2:
        term["namespaces"] = pick_distinct(draw, NAMESPACES, pick_count(draw, 1, 2))
    if draw() < 0.25:
        term["namespaceSelector"] = _draw_namespace_selector(draw)
    return term


def _add_label_keys(draw: Draw, term: Json, selector: Json, labels: Json) -> None:
    free = [key for key in (POD_HASH, "tier", "absent") if key not in selector_keys(selector)]
    share = draw()
    match_keys = pick_distinct(draw, free, pick_count(draw, 1, 2)) if share < 0.6 else []
    mismatch_keys = [key for key in ("app", POD_HASH, "absent") if key not in match_keys and draw() < 0.5]
    if match_keys:
        term["matchLabelKeys"] = match_keys
        merge_label_keys(selector, match_keys, "In", labels)
    if mismatch_keys and share > 0.45:
        term["mismatchLabelKeys"] = mismatch_keys
        merge_label_keys(selector, mismatch_keys, "NotIn", labels)


def _draw_namespace_selector(draw: Draw) -> Json:
    """Draw a selector of namespaces; negative ones also match a namespace whose object is missing."""
    shape = draw()
    if shape < 0.25:
        return {}
    if shape < 0.6:
        return {"matchLabels": {"team": pick(draw, ("a", "b"))}}
    if shape < 0.75:
        return {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}
    if shape < 0.85:
        return {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}
    return {"matchExpressions": [{"key": "env", "operator": pick(draw, ("Exists", "DoesNotExist"))}]}


def make_pod_affinities(draw: Draw, labels: Json, required_share: float) -> Json:
    """Draw podAffinity, podAntiAffinity or both, required or preferred or both."""
    affinity: Json = {}
    side = draw()
    if side < 0.6:
        affinity["podAffinity"] = _draw_terms(draw, labels, required_share)
    if side > 0.4:
        affinity["podAntiAffinity"] = _draw_terms(draw, labels, required_share)
    return affinity


def _draw_terms(draw: Draw, labels: Json, required_share: float) -> Json:
    terms: Json = {}
    if draw() < required_share:
        terms["requiredDuringSchedulingIgnoredDuringExecution"] = [
            make_pod_affinity_term(draw, labels) for _ in range(pick(draw, (1, 1, 2)))
        ]
    if not terms or draw() < 0.4:
        terms["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": pick(draw, WEIGHTS), "podAffinityTerm": make_pod_affinity_term(draw, labels)}
            for _ in range(pick(draw, (1, 1, 2, 3)))
        ]
    return terms


def spoil_pod_affinities(draw: Draw, affinity: Json) -> Json:
    """Make one term of a running pod unreadable: upstream then forgets the terms of its kind, and keeps the others."""
    side = pick(draw, list(affinity))
    kind = pick(draw, list(affinity[side]))
    terms = list(affinity[side][kind])
    position = int(draw() * len(terms))
    is_weighted = "podAffinityTerm" in terms[position]
    term = terms[position]["podAffinityTerm"] if is_weighted else terms[position]
    field = "namespaceSelector" if draw() < 0.2 else "labelSelector"
    requirement = {"key": "app", "operator": "NotIn", "values": [UNREADABLE_VALUE]}
    selector = term.get(field, {})
    term = {**term, field: {**selector, "matchExpressions": [*selector.get("matchExpressions", ()), requirement]}}
    terms[position] = {**terms[position], "podAffinityTerm": term} if is_weighted else term
    return {**affinity, side: {**affinity[side], kind: terms}}


def add_node_affinity(draw: Draw, plan: CasePlan, spec: Json, node_names: list[str]) -> None:
    """Give the pod a nodeSelector, required terms or preferred terms, at least one of them."""
    share = plan.required_share
    if draw() < share * 0.5:
        spec["nodeSelector"] = _draw_node_selector(draw, node_names)
    affinity: Json = {}
    if draw() < share:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": _draw_required_terms(draw, node_names)
        }
    if draw() < 0.6 or not (affinity or "nodeSelector" in spec):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": pick(draw, WEIGHTS), "preference": _draw_node_term(draw, node_names, is_required=False)}
            for _ in range(pick_count(draw, 1, 3))
        ]
    if affinity:
        spec.setdefault("affinity", {})["nodeAffinity"] = affinity


def _draw_node_selector(draw: Draw, node_names: list[str]) -> dict[str, str]:
    shape = draw()
    if shape < 0.08:
        return {HOSTNAME: pick(draw, node_names)}
    if shape < 0.5:
        return {"disk": pick(draw, DISKS)}
    if shape < 0.8:
        return {ZONE: pick(draw, (*ZONES, ZONES[0], ""))}
    if shape < 0.95:
        return {REGION: pick(draw, REGIONS), "disk": pick(draw, DISKS)}
    return {"absent": "x"}


def _draw_required_terms(draw: Draw, node_names: list[str]) -> list[Json]:
    count = pick(draw, (1, 1, 2, 3))
    if draw() < 0.3:
        # Every term names a node: upstream then looks at no other node (and at none when the names conflict).
        return [_draw_named_term(draw, node_names) for _ in range(count)]
    return [_draw_node_term(draw, node_names, is_required=True) for _ in range(count)]


def _draw_named_term(draw: Draw, node_names: list[str]) -> Json:
    fields = [_draw_field(draw, node_names, "In")]
    shape = draw()
    if shape < 0.35:
        fields.append(_draw_field(draw, node_names, "In"))
    elif shape < 0.45:
        fields.append(_draw_field(draw, node_names, "NotIn"))
    term: Json = {"matchFields": fields}
    if draw() < 0.2:
        term["matchExpressions"] = [_draw_node_requirement(draw, node_names, is_required=True)]
    return term


def _draw_field(draw: Draw, node_names: list[str], operator: str) -> Json:
    name = MISSING_NODE if draw() < 0.08 else pick(draw, node_names)
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def _draw_node_term(draw: Draw, node_names: list[str], *, is_required: bool) -> Json:
    shape = draw()
    if shape < 0.1:
        # An empty term selects no node, and an empty preference adds nothing.
        return {}
    term: Json = {}
    if shape < 0.9:
        term["matchExpressions"] = [
            _draw_node_requirement(draw, node_names, is_required=is_required) for _ in range(pick(draw, (1, 1, 1, 2)))
        ]
    if shape > 0.8:
        term["matchFields"] = [_draw_field(draw, node_names, pick(draw, ("In", "NotIn", "NotIn")))]
    return term


def _draw_node_requirement(draw: Draw, node_names: list[str], *, is_required: bool) -> Json:
    key = pick(draw, NODE_LABEL_KEYS)
    if key == "cores" and draw() < 0.8:
        value = pick(draw, GREATER_LESS_VALUES)
        # An unreadable bound is stored, and matches no node; in a preferred term it would stop the whole cycle.
        if is_required and draw() < 0.5:
            value = pick(draw, UNREADABLE_BOUNDS)
        return {"key": key, "operator": pick(draw, ("Gt", "Lt")), "values": [value]}
    operator = pick(draw, SELECTOR_OPERATORS)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    options = node_names if key == HOSTNAME else NODE_LABEL_VALUES[key]
    values = pick_distinct(draw, options, pick_count(draw, 1, 3))
    # One value that cannot be read spoils the term, whatever its other values and requirements say.
    if is_required and draw() < 0.08:
        values.append(UNREADABLE_VALUE)
    return {"key": key, "operator": operator, "values": values}
