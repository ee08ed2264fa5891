"""Constraints between pods, compiled to rows of one counter table.

A query is a question about the pods on a node ("how many match this selector?", "how much weight do they give this
term?"). `match[query, class]` says what one pod of a class adds to it. Filters and scores then need a gather and a
segment sum, whatever the constraint was. Called by `core.encode`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from longshore.core.class_index import ClassIndex
from longshore.core.labels import Labels, Selector, selector_matches
from longshore.core.pod import AffinityTerm, HostPort, Owner, PodSpec, SpreadConstraint
from longshore.core.snapshot import Service, Snapshot

HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"

# What a required affinity term of an existing pod is worth when others are scored (upstream's hardPodAffinityWeight).
HARD_AFFINITY_WEIGHT = 1
# The cluster's default spread: soft, (topology key, max skew).
DEFAULT_SPREAD = ((HOSTNAME_KEY, 3), (ZONE_KEY, 5))

Matcher = Callable[[PodSpec, dict[str, str]], bool]
TermsOf = Callable[[PodSpec], Iterable[tuple[int, AffinityTerm]]]
"""The terms of a class, each with what a pod of the class adds to its counter."""


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
        self.rows = [np.zeros(len(specs), np.int64)]
        self._index: dict[Hashable, int] = {}
        self._classes = ClassIndex(specs, self.labels)
        self._namespaces = {namespace.name: dict(namespace.labels) for namespace in snapshot.namespaces}
        self._services = _services_by_pair(snapshot.services)
        self._controllers = {
            (one.namespace, Owner(one.api_version, one.kind, one.name)): one for one in snapshot.controllers
        }
        self._resolved: dict[Hashable, ResolvedTerm] = {}
        self.repelling = self._by_term(lambda spec: ((1, term) for term in spec.anti_affinity))
        """Required anti-affinity: term to class to how often the class has it."""
        self.weighing = self._by_term(weighted_terms)
        """What existing pods' terms are worth in scores: term to class to signed weight."""
        self._held_ports = _classes_by_port(specs)

    def index(self, key: Hashable, count: Callable[[], Mapping[int, int]]) -> int:
        """Return the row for `key`, filled on first use by what each class adds; classes not named add nothing."""
        known = self._index.get(key)
        if known is None:
            known = self._index[key] = len(self.rows)
            row, counts = np.zeros(len(self.specs), np.int64), count()
            row[list(counts)] = list(counts.values())
            self.rows.append(row)
        return known

    def spread(self, namespace: str, selector: Selector | None) -> int:
        """Pods of the namespace that match and are not being deleted; an empty selector counts none."""

        def matches(spec: PodSpec, labels: dict[str, str]) -> bool:
            return not spec.is_terminating and spec.namespace == namespace and _counts(selector, labels)

        def count() -> Mapping[int, int]:
            return self._matching(self._classes.candidates(selector, (namespace,)), matches)

        return self.index(("spread", namespace, selector), count)

    def all_terms(self, spec: PodSpec) -> int:
        """Pods that match every required affinity term of a class."""
        terms = tuple(self.resolve(spec, term) for term in spec.affinity)

        def matches(other: PodSpec, labels: dict[str, str]) -> bool:
            return all(self.incoming_matches(term, other, labels) for term in terms)

        def count() -> Mapping[int, int]:
            fewest = min((self._candidates(term) for term in terms), key=len)
            return self._matching(fewest, matches)

        return self.index(("all", tuple(term[1:] for term in terms)), count)

    def term(self, spec: PodSpec, term: AffinityTerm) -> int:
        """Pods that match one term of a class."""
        resolved = self.resolve(spec, term)

        def matches(other: PodSpec, labels: dict[str, str]) -> bool:
            return self.incoming_matches(resolved, other, labels)

        return self.index(("term", resolved[1:]), lambda: self._matching(self._candidates(resolved), matches))

    def matched_by(self, resolved: ResolvedTerm) -> list[int]:
        """Return the classes that a term of a pod that is already there matches."""
        return [
            index
            for index in self._candidates(resolved)
            if self.existing_matches(resolved, self.specs[index], self.labels[index])
        ]

    def carriers(self, resolved: ResolvedTerm) -> int:
        """Pods that require to be away from what the term matches."""
        return self.index(("carries", resolved), lambda: self.repelling.get(resolved, {}))

    def weight(self, resolved: ResolvedTerm) -> int:
        """The signed weight that pods give to what the term matches."""
        return self.index(("weight", resolved), lambda: self.weighing.get(resolved, {}))

    def port_conflicts(self, wanted: Iterable[HostPort]) -> list[int]:
        """Pods that hold a host port which conflicts with a wanted one: a row for every such port."""
        found: dict[HostPort, dict[int, int]] = {}
        for mine in wanted:
            alike = self._held_ports.get((mine.port, mine.protocol), {})
            found.update((port, classes) for port, classes in alike.items() if port.conflicts(mine))
        return [self.index(("port", port), partial(dict, held)) for port, held in found.items()]

    def gpu_kind(self, spec: PodSpec) -> int:
        """Pods that hold GPUs in the same way: a share, or the same number of whole ones."""
        kind = gpu_kind(spec)
        if kind is None:
            return 0
        return self.index(
            ("gpu", kind), lambda: self._matching(range(len(self.specs)), lambda other, _: gpu_kind(other) == kind)
        )

    def gpu_any(self) -> int:
        """Pods that hold any GPU."""
        holders = {index: 1 for index, spec in enumerate(self.specs) if spec.gpu}
        return self.index(("gpu", "any"), lambda: holders) if holders else 0

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
        for pair in spec.labels:
            for selector in self._services.get((spec.namespace, pair), ()):
                if all(labels.get(key) == value for key, value in selector):
                    merged.update(selector)
        owner = spec.owner
        controller = self._controllers.get((spec.namespace, owner)) if owner else None
        extra = controller.selector.requirements if controller and controller.selector else ()
        if owner and owner.kind == "ReplicationController":
            # Its selector is a plain map, which upstream merges over the services' labels; others are added to them.
            merged.update((requirement.key, requirement.values[0]) for requirement in extra)
            extra = ()
        return Selector(extra).extended(merged)

    def _candidates(self, term: ResolvedTerm) -> list[int]:
        # A selector of namespaces may take in any of them, by rules of their own.
        return self._classes.candidates(term.selector, term.namespaces if term.namespace_selector is None else None)

    def _matching(self, candidates: Iterable[int], matches: Matcher) -> dict[int, int]:
        return {index: 1 for index in candidates if matches(self.specs[index], self.labels[index])}

    def _by_term(self, terms: TermsOf) -> dict[ResolvedTerm, Counter[int]]:
        found: defaultdict[ResolvedTerm, Counter[int]] = defaultdict(Counter)
        for index, spec in enumerate(self.specs):
            for amount, term in terms(spec):
                found[self.resolve(spec, term)][index] += amount
        return dict(found)


def _services_by_pair(services: Sequence[Service]) -> dict[tuple[str, tuple[str, str]], list[Labels]]:
    """List the services' selectors by namespace and by the label that the fewest services select.

    A service without a selector selects nothing, not everything; an empty one adds nothing.
    """
    frequency = Counter(pair for service in services for pair in service.selector or ())
    found: defaultdict[tuple[str, tuple[str, str]], list[Labels]] = defaultdict(list)
    for service in services:
        if service.selector:
            rarest = min(service.selector, key=lambda pair: frequency[pair])
            found[service.namespace, rarest].append(service.selector)
    return dict(found)


def _classes_by_port(specs: Sequence[PodSpec]) -> dict[tuple[int, str], dict[HostPort, dict[int, int]]]:
    """List who holds a host port, by number and protocol."""
    found: defaultdict[tuple[int, str], dict[HostPort, dict[int, int]]] = defaultdict(dict)
    for index, spec in enumerate(specs):
        for port in spec.host_ports:
            found[port.port, port.protocol].setdefault(port, {})[index] = 1
    return dict(found)


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
