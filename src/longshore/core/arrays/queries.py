"""Constraints between pods, compiled to rows of one counter table.

A query is a question about the pods on a node ("how many match this selector?", "how much weight do they give this
term?"). `match[query, class]` says what one pod of a class adds to it. Filters and scores then need a gather and a
segment sum, whatever the constraint was. Called by `arrays.compiler`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from longshore.core.arrays.class_index import ClassIndex, SelectorIndex
from longshore.core.words.labels import Selector, selector_matches
from longshore.core.words.objects import Objects
from longshore.core.words.pod import AffinityTerm, HostPort, PodSpec, SpreadConstraint

HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"

# What a required affinity term of an existing pod is worth when others are scored (upstream's hardPodAffinityWeight).
HARD_AFFINITY_WEIGHT = 1
# The cluster's default spread: soft, (topology key, max skew).
DEFAULT_SPREAD = ((HOSTNAME_KEY, 3), (ZONE_KEY, 5))

Matcher = Callable[[PodSpec, dict[str, str]], bool]
_ANY_GPU = "any"


class ResolvedTerm(NamedTuple):
    """An affinity term with its namespaces worked out, from the point of view of the pod that has it."""

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str]
    namespace_selector: Selector | None


class News(NamedTuple):
    """What no class had before the one that was taken in: others may have to be compiled again."""

    terms: tuple[ResolvedTerm, ...]
    ports: tuple[HostPort, ...]


class Queries:
    """The counter table's rows; row 0 counts nothing."""

    def __init__(self, objects: Objects) -> None:
        """Take the objects, which may change: classes that a change is about must be compiled again."""
        self.specs: list[PodSpec] = []
        self.labels: list[dict[str, str]] = []
        self.amounts: list[dict[int, int]] = [{}]
        """By query: what one pod of each class adds to it; classes that are not named add nothing."""
        self._index: dict[Hashable, int] = {}
        self._classes = ClassIndex()
        self._matchers: dict[int, Matcher] = {}
        self._selectors = SelectorIndex()
        self._terms: list[tuple[ResolvedTerm, bool]] = []
        """Terms of classes, each with whether it is one that repels."""
        self._term_selectors = SelectorIndex()
        self._objects = objects
        self._resolved: dict[Hashable, ResolvedTerm] = {}
        self.repelling: dict[ResolvedTerm, dict[int, int]] = {}
        """Required anti-affinity: term to class to how often the class has it."""
        self.weighing: dict[ResolvedTerm, dict[int, int]] = {}
        """What existing pods' terms are worth in scores: term to class to signed weight."""
        self._held_ports: defaultdict[tuple[int, str], dict[HostPort, dict[int, int]]] = defaultdict(dict)
        self._gpu_holders: dict[str, dict[int, int]] = {}

    def add(self, spec: PodSpec) -> News:
        """Take in one more class; rows that count it already do so from here on."""
        index, labels = len(self.specs), dict(spec.labels)
        self.specs.append(spec)
        self.labels.append(labels)
        self._classes.add(spec, labels)
        terms = [*self._add_terms(index, self.repelling, ((1, term) for term in spec.anti_affinity))]
        terms += self._add_terms(index, self.weighing, weighted_terms(spec))
        ports = []
        for port in spec.host_ports:
            alike = self._held_ports[port.port, port.protocol]
            if port not in alike:
                alike[port] = {}
                ports.append(port)
            alike[port][index] = 1
        kind = gpu_kind(spec)
        if kind is not None:
            for name in (kind, _ANY_GPU):
                self._gpu_holders.setdefault(name, {})[index] = 1
        for query in self._selectors.candidates(spec.namespace, labels):
            if self._matchers[query](spec, labels):
                self.amounts[query][index] = 1
        return News(tuple(terms), tuple(ports))

    def own(self, index: int) -> list[tuple[int, int]]:
        """Return the queries that count a class, each with what one pod of it adds."""
        spec, labels = self.specs[index], self.labels[index]
        keys: list[Hashable] = [("carries", self.resolve(spec, term)) for term in spec.anti_affinity]
        keys += [("weight", self.resolve(spec, term)) for _, term in weighted_terms(spec)]
        keys += [("port", port) for port in spec.host_ports]
        keys += [("gpu", gpu_kind(spec)), ("gpu", _ANY_GPU)] if spec.gpu else []
        found = {self._index[key] for key in keys if key in self._index}
        found.update(self._selectors.candidates(spec.namespace, labels))
        return [(query, self.amounts[query][index]) for query in sorted(found) if index in self.amounts[query]]

    def about(self, index: int) -> tuple[list[ResolvedTerm], list[ResolvedTerm]]:
        """Return the terms of pods that are there which match a class: those that repel it, and those that weigh it."""
        spec, labels = self.specs[index], self.labels[index]
        found: tuple[list[ResolvedTerm], list[ResolvedTerm]] = ([], [])
        for number in self._term_selectors.candidates(spec.namespace, labels):
            term, is_repelling = self._terms[number]
            if self.existing_matches(term, spec, labels):
                found[0 if is_repelling else 1].append(term)
        return found

    def touched_by(self, news: News) -> set[int]:
        """Return the classes that are compiled differently now."""
        found = {index for term in news.terms for index in self.matched_by(term)}
        for port in news.ports:
            for other, holders in self._held_ports[port.port, port.protocol].items():
                found.update(holders if other.conflicts(port) else ())
        return found

    @property
    def reads_namespaces(self) -> bool:
        """Some term selects namespaces by their labels."""
        return any(term.namespace_selector is not None for term in self._resolved.values())

    def index(self, key: Hashable, count: Callable[[], dict[int, int]]) -> int:
        """Return the row for `key`, filled on first use by what each class adds; classes not named add nothing."""
        known = self._index.get(key)
        if known is None:
            known = self._index[key] = len(self.amounts)
            self.amounts.append(count())
        return known

    def _selecting(
        self, key: Hashable, selector: Selector | None, namespaces: Collection[str] | None, matches: Matcher
    ) -> int:
        """Return the row for a question that a selector is the narrowest part of."""

        def count() -> dict[int, int]:
            return self._matching(self._classes.candidates(selector, namespaces), matches)

        num_rows = len(self.amounts)
        query = self.index(key, count)
        if query == num_rows:
            self._matchers[query] = matches
            self._selectors.add(query, selector, namespaces)
        return query

    def spread(self, namespace: str, selector: Selector | None) -> int:
        """Pods of the namespace that match and are not being deleted; an empty selector counts none."""

        def matches(spec: PodSpec, labels: dict[str, str]) -> bool:
            return not spec.is_terminating and spec.namespace == namespace and _counts(selector, labels)

        return self._selecting(("spread", namespace, selector), selector, (namespace,), matches)

    def all_terms(self, spec: PodSpec) -> int:
        """Pods that match every required affinity term of a class."""
        terms = tuple(self.resolve(spec, term) for term in spec.affinity)

        def matches(other: PodSpec, labels: dict[str, str]) -> bool:
            return all(self.incoming_matches(term, other, labels) for term in terms)

        fewest = terms[0] if len(terms) == 1 else min(terms, key=lambda term: len(self._candidates(term)))
        key = ("all", tuple(term[1:] for term in terms))
        return self._selecting(key, fewest.selector, _narrowed(fewest), matches)

    def term(self, spec: PodSpec, term: AffinityTerm) -> int:
        """Pods that match one term of a class."""
        resolved = self.resolve(spec, term)

        def matches(other: PodSpec, labels: dict[str, str]) -> bool:
            return self.incoming_matches(resolved, other, labels)

        return self._selecting(("term", resolved[1:]), resolved.selector, _narrowed(resolved), matches)

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
        return [self.index(("port", port), partial(_same, held)) for port, held in found.items()]

    def gpu_kind(self, spec: PodSpec) -> int:
        """Pods that hold GPUs in the same way: a share, or the same number of whole ones."""
        kind = gpu_kind(spec)
        if kind is None:
            return 0
        return self.index(("gpu", kind), lambda: self._gpu_holders.setdefault(kind, {}))

    def gpu_any(self) -> int:
        """Pods that hold any GPU."""
        holders = self._gpu_holders.get(_ANY_GPU)
        return self.index(("gpu", _ANY_GPU), lambda: holders) if holders else 0

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
            known = self._objects.namespace_labels.get(other.namespace)
            if known is None or not selector.matches(known):
                return False
        elif other.namespace not in term.namespaces and selector is None:
            return False
        return selector_matches(term.selector, labels)

    def existing_matches(self, term: ResolvedTerm, spec: PodSpec, labels: dict[str, str]) -> bool:
        """Match the pod that is being placed against a term of a pod that is already there."""
        if spec.namespace not in term.namespaces:
            namespace = self._objects.namespace_labels.get(spec.namespace, {})
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
            for selector in self._objects.selectors(spec.namespace, pair):
                if all(labels.get(key) == value for key, value in selector):
                    merged.update(selector)
        owner = spec.owner
        controller = self._objects.controllers.get((spec.namespace, owner)) if owner else None
        extra = controller.selector.requirements if controller and controller.selector else ()
        if owner and owner.kind == "ReplicationController":
            # Its selector is a plain map, which upstream merges over the services' labels; others are added to them.
            merged.update((requirement.key, requirement.values[0]) for requirement in extra)
            extra = ()
        return Selector(extra).extended(merged)

    def _candidates(self, term: ResolvedTerm) -> list[int]:
        return self._classes.candidates(term.selector, _narrowed(term))

    def _matching(self, candidates: Iterable[int], matches: Matcher) -> dict[int, int]:
        return {index: 1 for index in candidates if matches(self.specs[index], self.labels[index])}

    def _add_terms(
        self, index: int, found: dict[ResolvedTerm, dict[int, int]], terms: Iterable[tuple[int, AffinityTerm]]
    ) -> Iterator[ResolvedTerm]:
        """Count a class's terms; yield those that no class had before."""
        for amount, term in terms:
            resolved = self.resolve(self.specs[index], term)
            holders = found.get(resolved)
            if holders is None:
                holders = found[resolved] = {}
                self._term_selectors.add(len(self._terms), resolved.selector, _narrowed(resolved))
                self._terms.append((resolved, found is self.repelling))
                yield resolved
            holders[index] = holders.get(index, 0) + amount


def _same(counts: dict[int, int]) -> dict[int, int]:
    return counts


def _narrowed(term: ResolvedTerm) -> frozenset[str] | None:
    # A selector of namespaces may take in any of them, by rules of their own.
    return term.namespaces if term.namespace_selector is None else None


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
