"""Classes of pods as arrays, compiled against the nodes (`arrays.static`) and the other classes (`arrays.queries`)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, SpreadTerms, Terms
from longshore.core.arrays.ops import Array
from longshore.core.arrays.padding import ragged
from longshore.core.arrays.queries import HOSTNAME_KEY, Queries, ResolvedTerm
from longshore.core.arrays.static import StaticRows, selected, untainted
from longshore.core.words.pod import PodSpec, SpreadConstraint
from longshore.core.words.resources import CORE_RESOURCES, PodRequests

Pairs = list[tuple[int, int]]
"""(query, topology key) per term."""


class ClassEncoder:
    """Compiles the classes of one cluster; its tables hold the rows that the classes point at."""

    def __init__(
        self, static: StaticRows, queries: Queries, requests: Sequence[PodRequests], resource_names: tuple[str, ...]
    ) -> None:
        """Take tables to add rows to, what each class of `queries` asks for, and the columns of that."""
        self.static, self.queries, self.requests, self.resource_names = static, queries, requests, resource_names
        self.keys: dict[str, int] = {}

    def encode(self, classes: Sequence[int]) -> ClassArrays:
        """Compile some of the classes that `queries` knows, in the order given."""
        static = self.static
        specs = [self.queries.specs[index] for index in classes]
        requests = [self.requests[index] for index in classes]
        about = [self.queries.about(index) for index in classes]
        soft = [self.queries.spread_constraints(spec) for spec in specs]
        preferred = [self._preferred(spec, wished) for spec, (_, wished) in zip(specs, about, strict=True)]
        soft_limit = _limits([spec.latency_soft_ms for spec in specs])
        hard_limit = _limits([spec.latency_hard_ms for spec in specs])
        return ClassArrays(
            request=self.request_rows(requests),
            keeps_on=np.array([spec.keeps_node_on for spec in specs], np.int64),
            nonzero_request=_pairs([(r.nonzero_cpu_millis, r.nonzero_memory_bytes) for r in requests]),
            score_request=_pairs([(r.score_cpu_millis, r.score_memory_bytes) for r in requests]),
            static_masks={part.filter: _per_class(partial(static.mask, part.ask), specs) for part in static.parts},
            taint_weight=_per_class(static.taint_weight, specs),
            affinity_weight=_per_class(static.affinity_weight, specs),
            image_weight=_per_class(static.image_weight, specs),
            ports=ragged([self.queries.port_conflicts(spec.host_ports) for spec in specs], np.int32),
            hard_spread=self._spread(specs, [tuple(c for c in spec.spread if c.is_hard) for spec in specs]),
            soft_spread=self._spread(specs, [constraints for constraints, _ in soft]),
            soft_is_default=np.array([is_default for _, is_default in soft], bool),
            affinity=_terms([self._affinity(spec) for spec in specs]),
            affinity_self=np.array([self._matches_itself(index) for index in classes], bool),
            anti_affinity=_terms([self._anti_affinity(spec) for spec in specs]),
            repelled_by=_terms([self._repelled_by(repelling) for repelling, _ in about]),
            preferred=_terms([[(query, key) for query, key, _ in row] for row in preferred]),
            preferred_weight=ragged([[weight for _, _, weight in row] for row in preferred], np.int64),
            gpu_count=np.array([spec.gpu.count if spec.gpu else 0 for spec in specs], np.int64),
            gpu_milli=np.array([spec.gpu.milli if spec.gpu else 0 for spec in specs], np.int64),
            gpu_kind_query=_per_class(self.queries.gpu_kind, specs),
            gpu_any_query=np.array(self.queries.gpu_any(), np.int32),
            latency_soft_ms=soft_limit,
            latency_hard_ms=hard_limit,
            has_latency_limits=np.isfinite(soft_limit) & np.isfinite(hard_limit),
        )

    def request_rows(self, requests: Sequence[PodRequests]) -> Array:
        """Return what classes ask for, in the order of the resources, int64 [classes, resources]."""
        rows = [dict(request.amounts) for request in requests]
        amounts = [[row.get(name, 0) for name in self.resource_names] for row in rows]
        return np.array(amounts, np.int64).reshape(len(rows), len(self.resource_names))

    def _affinity(self, spec: PodSpec) -> Pairs:
        query = self.queries.all_terms(spec) if spec.affinity else 0
        return [(query, self._key(term.topology_key)) for term in spec.affinity]

    def _anti_affinity(self, spec: PodSpec) -> Pairs:
        return [(self.queries.term(spec, term), self._key(term.topology_key)) for term in spec.anti_affinity]

    def _matches_itself(self, index: int) -> bool:
        queries = self.queries
        spec = queries.specs[index]
        terms = [queries.resolve(spec, term) for term in spec.affinity]
        return bool(terms) and all(queries.incoming_matches(term, spec, queries.labels[index]) for term in terms)

    def _repelled_by(self, repelling: Sequence[ResolvedTerm]) -> Pairs:
        """The required anti-affinity terms of all classes that match one."""
        return [(self.queries.carriers(term), self._key(term.topology_key)) for term in repelling]

    def _preferred(self, spec: PodSpec, wished: Sequence[ResolvedTerm]) -> list[tuple[int, int, int]]:
        """(query, key, weight): the class's own wishes, then those that others have about it."""
        queries = self.queries
        own = [(wish.weight, wish.term) for wish in spec.preferred_affinity]
        own += [(-wish.weight, wish.term) for wish in spec.preferred_anti_affinity]
        return [(queries.term(spec, term), self._key(term.topology_key), weight) for weight, term in own] + [
            (queries.weight(term), self._key(term.topology_key), 1) for term in wished
        ]

    def _spread(self, specs: Sequence[PodSpec], constraints: Sequence[tuple[SpreadConstraint, ...]]) -> SpreadTerms:
        def table(read: Callable[[PodSpec, SpreadConstraint], int], dtype: type) -> Array:
            return ragged([[read(spec, c) for c in row] for spec, row in zip(specs, constraints, strict=True)], dtype)

        return SpreadTerms(
            query=table(lambda spec, c: self.queries.spread(spec.namespace, c.selector), np.int32),
            key=table(lambda _, c: self._key(c.topology_key), np.int32),
            max_skew=table(lambda _, c: c.max_skew, np.int64),
            min_domains=table(lambda _, c: c.min_domains, np.int64),
            self_match=table(lambda spec, c: _matches(c, spec), np.int64),
            affinity_mask=table(lambda spec, c: self.static.mask(selected, spec) if c.honors_affinity else 0, np.int32),
            taint_mask=table(lambda spec, c: self.static.mask(untainted, spec) if c.honors_taints else 0, np.int32),
            is_hostname=table(lambda _, c: c.topology_key == HOSTNAME_KEY, bool),
        )

    def _key(self, topology_key: str) -> int:
        return self.keys.setdefault(topology_key, len(self.keys))


def resource_columns(requests: Iterable[PodRequests]) -> tuple[str, ...]:
    """Name the resources that classes ask for: what no pod asks for cannot decide anything, and gets no column."""
    names = {name for request in requests for name, _ in request.amounts}
    return CORE_RESOURCES + tuple(sorted(names - set(CORE_RESOURCES)))


def _per_class(compile_row: Callable[[PodSpec], int], specs: Sequence[PodSpec]) -> Array:
    return np.array([compile_row(spec) for spec in specs], np.int32)


def _matches(constraint: SpreadConstraint, spec: PodSpec) -> int:
    return int(constraint.selector is not None and constraint.selector.matches(dict(spec.labels)))


def _terms(rows: Sequence[Pairs]) -> Terms:
    queries = ragged([[query for query, _ in row] for row in rows], np.int32)
    return Terms(queries, ragged([[key for _, key in row] for row in rows], np.int32))


def _pairs(values: Sequence[tuple[int, int]]) -> Array:
    return np.array(values, np.int64).reshape(len(values), 2)


def _limits(milliseconds: Sequence[float | None]) -> Array:
    return np.array([np.inf if limit is None else limit for limit in milliseconds], np.float64)
