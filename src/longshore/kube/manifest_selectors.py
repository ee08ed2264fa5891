"""Selectors and affinity, from our words to the wire: the inverse of `selectors`."""

from collections.abc import Iterable, Mapping
from typing import Any

from longshore.core.words.labels import Labels, Requirement, Selector
from longshore.core.words.pod import AffinityTerm, NodeSelectorTerm, PodSpec, SpreadConstraint, WeightedAffinityTerm

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def selector(word: Selector) -> dict[str, Any]:
    """Write a label selector; equality is written as a label where the key is still free."""
    labels: dict[str, str] = {}
    others = []
    for requirement in word.requirements:
        is_equality = requirement.operator == "In" and len(requirement.values) == 1
        if is_equality and requirement.key not in labels:
            labels[requirement.key] = requirement.values[0]
        else:
            others.append(requirement)
    return _some({"matchLabels": labels or None, "matchExpressions": _requirements(others)})


def affinity(spec: PodSpec) -> dict[str, Any]:
    """Write all kinds of affinity of a pod."""
    nodes: dict[str, Any] = {}
    if spec.node_affinity is not None:
        nodes[_REQUIRED] = node_selector(spec.node_affinity)
    if spec.node_preferences is not None:
        nodes[_PREFERRED] = [
            {"weight": wish.weight, "preference": _node_term(wish.term)} for wish in spec.node_preferences
        ]
    return _some(
        {
            "nodeAffinity": nodes or None,
            "podAffinity": _pod_affinity(spec.affinity, spec.preferred_affinity),
            "podAntiAffinity": _pod_affinity(spec.anti_affinity, spec.preferred_anti_affinity),
        }
    )


def node_selector(terms: Iterable[NodeSelectorTerm]) -> dict[str, Any]:
    """Write terms of which a node must match one."""
    return {"nodeSelectorTerms": [_node_term(term) for term in terms]}


def node_terms(words: Iterable[NodeSelectorTerm]) -> dict[str, Any]:
    """Write node selector terms; none of them is not the same as no node selector."""
    return {"nodeSelectorTerms": [_node_term(word) for word in words]}


def spread(word: SpreadConstraint, labels: Labels) -> dict[str, Any]:
    """Write a spread constraint of a pod with these labels."""
    match_label_keys, chosen = _split_selector(word.selector, labels)
    return _some(
        {
            "maxSkew": word.max_skew,
            "topologyKey": word.topology_key,
            "whenUnsatisfiable": "DoNotSchedule" if word.is_hard else "ScheduleAnyway",
            "labelSelector": None if chosen is None else selector(chosen),
            "minDomains": None if word.min_domains == 1 else word.min_domains,
            "nodeAffinityPolicy": None if word.honors_affinity else "Ignore",
            "nodeTaintsPolicy": "Honor" if word.honors_taints else None,
            "matchLabelKeys": match_label_keys or None,
        }
    )


def _split_selector(word: Selector | None, labels: Labels) -> tuple[list[str], Selector | None]:
    """Find the `matchLabelKeys` behind a selector.

    Reading puts what they add first and leaves the rest in order; so requirements that are in order as a whole need
    none, and otherwise the shortest beginning that leaves order behind it was added by them.
    """
    if word is None:
        return [], None
    all_of_it, own = word.requirements, dict(labels)
    for count in range(len(all_of_it)):
        first, rest = all_of_it[:count], all_of_it[count:]
        is_own = all(item == Requirement(item.key, "In", (own.get(item.key, ""),)) for item in first)
        if is_own and list(rest) == sorted(rest):
            return [item.key for item in first], Selector(rest)
    return [], word


def _pod_affinity(required: Iterable[AffinityTerm], preferred: Iterable[WeightedAffinityTerm]) -> dict[str, Any] | None:
    wishes = [{"weight": wish.weight, "podAffinityTerm": _affinity_term(wish.term)} for wish in preferred]
    terms = [_affinity_term(term) for term in required]
    return _some({_REQUIRED: terms or None, _PREFERRED: wishes or None}) or None


def _affinity_term(word: AffinityTerm) -> dict[str, Any]:
    return _some(
        {
            "topologyKey": word.topology_key,
            "labelSelector": None if word.selector is None else selector(word.selector),
            "namespaces": list(word.namespaces) or None,
            "namespaceSelector": None if word.namespace_selector is None else selector(word.namespace_selector),
        }
    )


def _node_term(word: NodeSelectorTerm) -> dict[str, Any]:
    return _some({"matchExpressions": _requirements(word.expressions), "matchFields": _requirements(word.fields)})


def _requirements(words: Iterable[Requirement]) -> list[dict[str, Any]] | None:
    return [
        _some({"key": word.key, "operator": word.operator, "values": list(word.values) or None}) for word in words
    ] or None


def _some(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out fields that are None; empty ones stay, since an empty selector is not the same as none."""
    return {key: value for key, value in fields.items() if value is not None}
