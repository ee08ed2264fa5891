"""Constraints between pods, compiled to rows of one counter table.

A query is a question about the pods on a node ("how many match this selector?", "how much weight do they give this
term?"). `match[query, class]` says what one pod of a class adds to it. Filters and scores then need a gather and a
segment sum, whatever the constraint was. Called by `core.encode`.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from longshore.core.labels import Requirement, Selector, selector_matches
from longshore.core.pod import AffinityTerm, HostPort, Owner, PodSpec, SpreadConstraint
from longshore.core.snapshot import Snapshot

HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"

# What a required affinity term of an existing pod is worth when others are scored (upstream's hardPodAffinityWeight).
HARD_AFFINITY_WEIGHT = 1
# The cluster's default spread: soft, (topology key, max skew).
DEFAULT_SPREAD = ((HOSTNAME_KEY, 3), (ZONE_KEY, 5))

Matcher = Callable[[PodSpec, dict[str, str]], int]


class ResolvedTerm(NamedTuple):
    """An affinity term with its namespaces worked out, from the point of view of the pod that has it."""

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str]
    namespace_selector: Selector | None


class Queries:
    """The counter table's rows; row 0 counts nothing."""

    def __init__(self, snapshot: Snapshot, specs: list[PodSpec]) -> None:
        self.specs = specs
        self.labels = [dict(spec.labels) for spec in specs]
        self.rows: list[list[int]] = [[0] * len(specs)]
        self._index: dict[Hashable, int] = {}
        self._snapshot = snapshot
        self._namespaces = {namespace.name: dict(namespace.labels) for namespace in snapshot.namespaces}
        self._resolved: dict[Hashable, ResolvedTerm] = {}

    def index(self, key: Hashable, matcher: Matcher) -> int:
        """Return the row for `key`, filled on first use."""
        known = self._index.get(key)
        if known is None:
            known = self._index[key] = len(self.rows)
            self.rows.append([matcher(spec, labels) for spec, labels in zip(self.specs, self.labels, strict=True)])
        return known

    def spread(self, namespace: str, selector: Selector | None) -> int:
        """Pods of the namespace that match and are not being deleted; an empty selector counts none."""

        def matches(spec: PodSpec, labels: dict[str, str]) -> int:
            return int(not spec.is_terminating and spec.namespace == namespace and _counts(selector, labels))

        return self.index(("spread", namespace, selector), matches)

    def all_terms(self, spec: PodSpec) -> int:
        """Pods that match every required affinity term of a class."""
        terms = tuple(self.resolve(spec, term) for term in spec.affinity)

        def matches(other: PodSpec, labels: dict[str, str]) -> int:
            return int(all(self.incoming_matches(term, other, labels) for term in terms))

        return self.index(("all", tuple(term[1:] for term in terms)), matches)

    def term(self, spec: PodSpec, term: AffinityTerm) -> int:
        """Pods that match one term of a class."""
        resolved = self.resolve(spec, term)

        def matches(other: PodSpec, labels: dict[str, str]) -> int:
            return int(self.incoming_matches(resolved, other, labels))

        return self.index(("term", resolved[1:]), matches)

    def carriers(self, resolved: ResolvedTerm) -> int:
        """Pods that require to be away from what the term matches."""

        def carries(other: PodSpec, _: dict[str, str]) -> int:
            return sum(self.resolve(other, term) == resolved for term in other.anti_affinity)

        return self.index(("carries", resolved), carries)

    def weight(self, resolved: ResolvedTerm) -> int:
        """The signed weight that pods give to what the term matches."""

        def weighs(other: PodSpec, _: dict[str, str]) -> int:
            return sum(weight for weight, term in weighted_terms(other) if self.resolve(other, term) == resolved)

        return self.index(("weight", resolved), weighs)

    def ports(self, port: HostPort) -> int:
        """Pods that hold a host port."""
        return self.index(("port", port), lambda other, _: int(port in other.host_ports))

    def gpu_kind(self, spec: PodSpec) -> int:
        """Pods that hold GPUs in the same way: a share, or the same number of whole ones."""
        kind = gpu_kind(spec)
        return self.index(("gpu", kind), lambda other, _: int(gpu_kind(other) == kind)) if kind else 0

    def gpu_any(self) -> int:
        """Pods that hold any GPU."""
        if not any(spec.gpu for spec in self.specs):
            return 0
        return self.index(("gpu", "any"), lambda other, _: int(gpu_kind(other) is not None))

    def resolve(self, spec: PodSpec, term: AffinityTerm) -> ResolvedTerm:
        """Work out a term's namespaces: those it lists, or the pod's own where it names none."""
        key = (spec.namespace, term)
        known = self._resolved.get(key)
        if known is None:
            own = not term.namespaces and term.namespace_selector is None
            names = frozenset((spec.namespace,) if own else term.namespaces)
            known = self._resolved[key] = ResolvedTerm(term.topology_key, term.selector, names, term.namespace_selector)
        return known

    def incoming_matches(self, term: ResolvedTerm, other: PodSpec, labels: dict[str, str]) -> bool:
        """Match a pod against a term of the pod that is being placed.

        Upstream looks the selected namespaces up by name and then asks the selector again, with no labels; so a
        selector that an unlabelled namespace satisfies (`DoesNotExist`, `NotIn`) takes in every namespace.
        """
        selector = term.namespace_selector
        if other.namespace not in term.namespaces and selector is not None and not selector.matches({}):
            known = self._namespaces.get(other.namespace)
            if known is None or not selector.matches(known):
                return False
        elif other.namespace not in term.namespaces and selector is None:
            return False
        return selector_matches(term.selector, labels)

    def existing_matches(self, term: ResolvedTerm, spec: PodSpec, labels: dict[str, str]) -> bool:
        """Match the pod that is being placed against a term of a pod that is already there."""
        if spec.namespace not in term.namespaces:
            namespace = self._namespaces.get(spec.namespace, {})
            if not selector_matches(term.namespace_selector, namespace):
                return False
        return selector_matches(term.selector, labels)

    def spread_constraints(self, spec: PodSpec) -> tuple[tuple[SpreadConstraint, ...], bool]:
        """Return the pod's soft constraints and whether they are the cluster's default ones."""
        if spec.spread:
            return tuple(constraint for constraint in spec.spread if not constraint.is_hard), False
        selector = self._default_selector(spec)
        if selector.is_empty:
            return (), True
        return tuple(SpreadConstraint(skew, key, False, selector) for key, skew in DEFAULT_SPREAD), True

    def _default_selector(self, spec: PodSpec) -> Selector:
        """What binds the pod to its like: its services' selectors and its controller's."""
        labels = dict(spec.labels)
        merged: dict[str, str] = {}
        for service in self._snapshot.services:
            if service.namespace != spec.namespace or service.selector is None:
                continue  # a service without a selector selects nothing, not everything
            if all(labels.get(key) == value for key, value in service.selector):
                merged.update(service.selector)
        owner = spec.owner
        extra: tuple[Requirement, ...] = ()
        for controller in self._snapshot.controllers:
            named = Owner(controller.api_version, controller.kind, controller.name)
            if named == owner and controller.namespace == spec.namespace:
                extra = controller.selector.requirements if controller.selector else ()
        if owner and owner.kind == "ReplicationController":
            # Its selector is a plain map, which upstream merges over the services' labels; others are added to them.
            merged.update((requirement.key, requirement.values[0]) for requirement in extra)
            extra = ()
        return Selector(extra).extended(merged)


def weighted_terms(spec: PodSpec) -> Iterable[tuple[int, AffinityTerm]]:
    """Yield what a pod on a node adds to the score of others there, with its sign."""
    for term in spec.affinity:
        yield HARD_AFFINITY_WEIGHT, term
    for wish in spec.preferred_affinity:
        yield wish.weight, wish.term
    for wish in spec.preferred_anti_affinity:
        yield -wish.weight, wish.term


def gpu_kind(spec: PodSpec) -> str | None:
    """Name the way in which a pod holds GPUs."""
    if spec.gpu is None:
        return None
    return "share" if spec.gpu.is_shared else str(spec.gpu.count)


def _counts(selector: Selector | None, labels: dict[str, str]) -> bool:
    return selector is not None and not selector.is_empty and selector.matches(labels)
