"""Selectors and affinity, from the wire to our words."""

from collections.abc import Mapping, Sequence

from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import (
    AffinityTerm,
    NodePreference,
    NodeSelectorTerm,
    SpreadConstraint,
    WeightedAffinityTerm,
)
from longshore.kube import wire

_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
_NODE_OPERATORS = _LABEL_OPERATORS | {"Gt", "Lt"}


class SelectorError(ValueError):
    """A selector that cannot be read; the converter adds whose it is."""


def selector(source: wire.LabelSelector | None) -> Selector | None:
    """Convert a label selector; none stays none (it matches nothing)."""
    if source is None:
        return None
    equal = [Requirement(key, "In", (value,)) for key, value in (source.match_labels or {}).items()]
    expressions = _requirements(source.match_expressions, _LABEL_OPERATORS)
    # A canonical order lets equal selectors share one counter.
    return Selector(tuple(sorted([*equal, *expressions])))


def set_selector(source: Mapping[str, str] | None) -> Selector | None:
    """Convert a plain map of labels."""
    return None if source is None else Selector().extended(source)


def node_terms(source: wire.NodeSelector | None) -> tuple[NodeSelectorTerm, ...] | None:
    """Convert required node affinity."""
    if source is None:
        return None
    return tuple(_node_term(term) for term in source.node_selector_terms or ())


def node_preferences(source: Sequence[wire.PreferredNode] | None) -> tuple[NodePreference, ...] | None:
    """Convert preferred node affinity."""
    if source is None:
        return None
    return tuple(NodePreference(wish.weight, _node_term(wish.preference)) for wish in source)


def affinity_terms(source: wire.PodAffinity | None) -> tuple[AffinityTerm, ...]:
    """Convert required pod (anti-)affinity."""
    return tuple(_affinity_term(term) for term in (source.required if source else None) or ())


def weighted_terms(source: wire.PodAffinity | None) -> tuple[WeightedAffinityTerm, ...]:
    """Convert preferred pod (anti-)affinity."""
    wishes = (source.preferred if source else None) or ()
    return tuple(WeightedAffinityTerm(wish.weight, _affinity_term(wish.pod_affinity_term)) for wish in wishes)


def spread_constraint(source: wire.TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadConstraint:
    """Convert a spread constraint; `matchLabelKeys` take their values from the pod's own labels."""
    if source.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        raise SelectorError(
            f"whenUnsatisfiable is `{source.when_unsatisfiable}`, expected `DoNotSchedule` or `ScheduleAnyway`"
        )
    chosen = selector(source.label_selector)
    own = {key: labels[key] for key in source.match_label_keys or () if key in labels}
    if chosen is not None and own:
        chosen = chosen.extended(own)
    return SpreadConstraint(
        max_skew=source.max_skew,
        topology_key=source.topology_key,
        is_hard=source.when_unsatisfiable == "DoNotSchedule",
        selector=chosen,
        min_domains=1 if source.min_domains is None else source.min_domains,
        honors_affinity=source.node_affinity_policy != "Ignore",
        honors_taints=source.node_taints_policy == "Honor",
    )


def _node_term(source: wire.NodeSelectorTerm) -> NodeSelectorTerm:
    expressions = _requirements(source.match_expressions, _NODE_OPERATORS)
    return NodeSelectorTerm(expressions, _requirements(source.match_fields, _NODE_OPERATORS))


def _affinity_term(source: wire.PodAffinityTerm) -> AffinityTerm:
    return AffinityTerm(
        topology_key=source.topology_key,
        selector=selector(source.label_selector),
        namespaces=tuple(sorted(source.namespaces or ())),
        namespace_selector=selector(source.namespace_selector),
    )


def _requirements(
    source: Sequence[wire.SelectorRequirement] | None, operators: frozenset[str]
) -> tuple[Requirement, ...]:
    for requirement in source or ():
        if requirement.operator not in operators:
            expected = ", ".join(f"`{name}`" for name in sorted(operators))
            raise SelectorError(
                f"operator `{requirement.operator}` for key `{requirement.key}`, expected one of {expected}"
            )
        if requirement.operator in ("Gt", "Lt") and len(requirement.values or ()) != 1:
            raise SelectorError(
                f"operator `{requirement.operator}` for key `{requirement.key}` needs exactly one value"
            )
    return tuple(Requirement(r.key, r.operator, tuple(sorted(r.values or ()))) for r in source or ())
