"""Classes of pods as arrays, compiled against the nodes (`core.static`) and the other classes (`core.queries`)."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from longshore.core.arrays import ClassArrays, SpreadTerms, Terms
from longshore.core.ops import Array
from longshore.core.padding import ragged
from longshore.core.pod import PodSpec, SpreadConstraint
from longshore.core.queries import HOSTNAME_KEY, Queries, ResolvedTerm
from longshore.core.resources import CORE_RESOURCES, pod_requests
from longshore.core.snapshot import Snapshot
from longshore.core.static import StaticRows

Pairs = list[tuple[int, int]]
"""(query, topology key) per term."""


class ClassEncoder:
    """Compiles the classes of one snapshot; its tables hold the rows that the classes point at."""

    def __init__(self, snapshot: Snapshot, specs: list[PodSpec]) -> None:
        self.specs = specs
        self.static = StaticRows(snapshot)
        self.queries = Queries(snapshot, specs)
        self.keys: dict[str, int] = {}
        self._requests = [pod_requests(spec) for spec in specs]
        names = {name for request in self._requests for name, _ in request.amounts}
        # Resources that no pod asks for cannot decide anything: only the asked ones get a column.
        self.resource_names = CORE_RESOURCES + tuple(sorted(names - set(CORE_RESOURCES)))
        self._repelled = self._by_class(self.queries.repelling)
        self._wished = self._by_class(self.queries.weighing)

    def encode(self) -> ClassArrays:
        """Compile all classes."""
        specs, static = self.specs, self.static
        soft = [self.queries.spread_constraints(spec) for spec in specs]
        preferred = [self._preferred(i) for i in range(len(specs))]
        soft_limit = _limits([spec.latency_soft_ms for spec in specs])
        hard_limit = _limits([spec.latency_hard_ms for spec in specs])
        return ClassArrays(
            request=self._request_rows(),
            nonzero_request=_pairs([(r.nonzero_cpu_millis, r.nonzero_memory_bytes) for r in self._requests]),
            score_request=_pairs([(r.score_cpu_millis, r.score_memory_bytes) for r in self._requests]),
            prefilter_mask=self._per_class(static.prefilter),
            node_name_mask=self._per_class(static.node_name),
            unschedulable_mask=self._per_class(static.unschedulable),
            taint_mask=self._per_class(static.taints),
            affinity_mask=self._per_class(static.affinity),
            volume_affinity_mask=self._per_class(static.volume_affinity),
            volume_mask=self._per_class(static.volumes),
            gpu_model_mask=self._per_class(static.gpu_model),
            taint_weight=self._per_class(static.taint_weight),
            affinity_weight=self._per_class(static.affinity_weight),
            image_weight=self._per_class(static.image_weight),
            ports=ragged([self.queries.port_conflicts(spec.host_ports) for spec in specs], np.int32),
            hard_spread=self._spread([tuple(c for c in spec.spread if c.is_hard) for spec in specs]),
            soft_spread=self._spread([constraints for constraints, _ in soft]),
            soft_is_default=np.array([is_default for _, is_default in soft], bool),
            affinity=_terms([self._affinity(spec) for spec in specs]),
            affinity_self=np.array([self._matches_itself(i) for i in range(len(specs))], bool),
            anti_affinity=_terms([self._anti_affinity(spec) for spec in specs]),
            repelled_by=_terms([self._repelled_by(i) for i in range(len(specs))]),
            preferred=_terms([[(query, key) for query, key, _ in row] for row in preferred]),
            preferred_weight=ragged([[weight for _, _, weight in row] for row in preferred], np.int64),
            gpu_count=np.array([spec.gpu.count if spec.gpu else 0 for spec in specs], np.int64),
            gpu_milli=np.array([spec.gpu.milli if spec.gpu else 0 for spec in specs], np.int64),
            gpu_kind_query=self._per_class(self.queries.gpu_kind),
            gpu_any_query=np.array(self.queries.gpu_any(), np.int32),
            latency_soft_ms=soft_limit,
            latency_hard_ms=hard_limit,
            has_latency_limits=np.isfinite(soft_limit) & np.isfinite(hard_limit),
        )

    def _request_rows(self) -> Array:
        rows = [dict(request.amounts) for request in self._requests]
        amounts = [[row.get(name, 0) for name in self.resource_names] for row in rows]
        return np.array(amounts, np.int64).reshape(len(rows), len(self.resource_names))

    def _affinity(self, spec: PodSpec) -> Pairs:
        query = self.queries.all_terms(spec) if spec.affinity else 0
        return [(query, self._key(term.topology_key)) for term in spec.affinity]

    def _anti_affinity(self, spec: PodSpec) -> Pairs:
        return [(self.queries.term(spec, term), self._key(term.topology_key)) for term in spec.anti_affinity]

    def _matches_itself(self, index: int) -> bool:
        spec, queries = self.specs[index], self.queries
        terms = [queries.resolve(spec, term) for term in spec.affinity]
        return bool(terms) and all(queries.incoming_matches(term, spec, queries.labels[index]) for term in terms)

    def _repelled_by(self, index: int) -> Pairs:
        """The required anti-affinity terms of all classes that match this one."""
        return [(self.queries.carriers(term), self._key(term.topology_key)) for term in self._repelled[index]]

    def _preferred(self, index: int) -> list[tuple[int, int, int]]:
        """(query, key, weight): the class's own wishes, then those that others have about it."""
        queries, spec = self.queries, self.specs[index]
        own = [(wish.weight, wish.term) for wish in spec.preferred_affinity]
        own += [(-wish.weight, wish.term) for wish in spec.preferred_anti_affinity]
        return [(queries.term(spec, term), self._key(term.topology_key), weight) for weight, term in own] + [
            (queries.weight(term), self._key(term.topology_key), 1) for term in self._wished[index]
        ]

    def _by_class(self, terms: Iterable[ResolvedTerm]) -> list[list[ResolvedTerm]]:
        """List for every class the terms of existing pods that match it."""
        found: list[list[ResolvedTerm]] = [[] for _ in self.specs]
        for term in terms:
            for index in self.queries.matched_by(term):
                found[index].append(term)
        return found

    def _spread(self, constraints: Sequence[tuple[SpreadConstraint, ...]]) -> SpreadTerms:
        def table(read: Callable[[PodSpec, SpreadConstraint], int], dtype: type) -> Array:
            return ragged(
                [[read(spec, c) for c in row] for spec, row in zip(self.specs, constraints, strict=True)], dtype
            )

        return SpreadTerms(
            query=table(lambda spec, c: self.queries.spread(spec.namespace, c.selector), np.int32),
            key=table(lambda _, c: self._key(c.topology_key), np.int32),
            max_skew=table(lambda _, c: c.max_skew, np.int64),
            min_domains=table(lambda _, c: c.min_domains, np.int64),
            self_match=table(lambda spec, c: _matches(c, spec), np.int64),
            honors_affinity=table(lambda _, c: c.honors_affinity, bool),
            honors_taints=table(lambda _, c: c.honors_taints, bool),
            is_hostname=table(lambda _, c: c.topology_key == HOSTNAME_KEY, bool),
        )

    def _key(self, topology_key: str) -> int:
        return self.keys.setdefault(topology_key, len(self.keys))

    def _per_class(self, compile_row: Callable[[PodSpec], int]) -> Array:
        return np.array([compile_row(spec) for spec in self.specs], np.int32)


def _matches(constraint: SpreadConstraint, spec: PodSpec) -> int:
    return int(constraint.selector is not None and constraint.selector.matches(dict(spec.labels)))


def _terms(rows: Sequence[Pairs]) -> Terms:
    queries = ragged([[query for query, _ in row] for row in rows], np.int32)
    return Terms(queries, ragged([[key for _, key in row] for row in rows], np.int32))


def _pairs(values: Sequence[tuple[int, int]]) -> Array:
    return np.array(values, np.int64).reshape(len(values), 2)


def _limits(milliseconds: Sequence[float | None]) -> Array:
    return np.array([np.inf if limit is None else limit for limit in milliseconds], np.float64)
