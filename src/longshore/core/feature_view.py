"""What features are computed from: one cluster and one pod, with the amounts that several features share.

A view lives for one call of `core.features.features`; what it works out is kept, so that NumPy computes it once (JAX
would find that out by itself). Everything is over all nodes at once; pools are over the real ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays, SpreadTerms, Terms
from longshore.core.fragmentation import node_fragment
from longshore.core.ops import Array, namespace
from longshore.core.power import CPU_COLUMN
from longshore.core.resources import CORE_RESOURCES, MEMORY
from longshore.core.topology import domain_sums

MEMORY_COLUMN = CORE_RESOURCES.index(MEMORY)


@dataclass(frozen=True)
class View:
    """A cluster as one pod sees it."""

    arrays: ClusterArrays
    pod_class: Array  # [] int
    feasible: Array  # [nodes] bool

    @cached_property
    def xp(self) -> Any:
        """Return the arrays' library."""
        return namespace(self.arrays.state.requested)

    @cached_property
    def is_real(self) -> Array:
        """Say which rows are nodes [nodes]."""
        return self.arrays.nodes.is_real

    @cached_property
    def is_on(self) -> Array:
        """Say which nodes have a pod [nodes]."""
        return self.is_real & (self.arrays.state.pod_count > 0)

    @cached_property
    def cpu_used(self) -> Array:
        """Return the requested share of CPU [nodes], 0 to 1."""
        return self._share(CPU_COLUMN, 0)

    @cached_property
    def memory_used(self) -> Array:
        """Return the requested share of memory [nodes], 0 to 1."""
        return self._share(MEMORY_COLUMN, 0)

    @cached_property
    def cpu_after(self) -> Array:
        """Return the requested share of CPU with the pod on the node [nodes], 0 to 1."""
        return self._share(CPU_COLUMN, self.request(CPU_COLUMN))

    @cached_property
    def memory_after(self) -> Array:
        """Return the requested share of memory with the pod on the node [nodes], 0 to 1."""
        return self._share(MEMORY_COLUMN, self.request(MEMORY_COLUMN))

    @cached_property
    def cpu_mean(self) -> Array:
        """Return the mean of `cpu_used` over the nodes."""
        return self.mean(self.cpu_used)

    @cached_property
    def latency_known(self) -> Array:
        """Say which nodes have a latency that can be used [nodes]."""
        return self.known(self.arrays.readings.latency_ms, self.arrays.readings.latency_known)

    @cached_property
    def most_watts(self) -> Array:
        """Return the most that any node can draw."""
        return self.xp.where(self.is_real[:, None], self.arrays.nodes.power_curve, 0.0).max()

    @cached_property
    def gpu_milli(self) -> Array:
        """Return the size of all GPUs of a node together [nodes]."""
        return self.arrays.nodes.gpu_capacity.sum(axis=1)

    @cached_property
    def fragment(self) -> Array:
        """Return the milli-GPU of every node that are free and of no use to typical pods [nodes]."""
        return node_fragment(self.arrays)

    @cached_property
    def fragment_after(self) -> Array:
        """Return the same with the pod on the node, on the GPUs that fit best [nodes]."""
        state, nodes = self.arrays.state, self.arrays.nodes
        free = gpu.free_milli(self.arrays) - gpu.best_fit(self.arrays, self.pod_class)
        cpu = nodes.allocatable[:, CPU_COLUMN] - state.requested[:, CPU_COLUMN] - self.request(CPU_COLUMN)
        return node_fragment(self.arrays, free, cpu)

    def request(self, column: int) -> Array:
        """Return what the pod asks for of a resource."""
        return self.arrays.classes.request[self.pod_class, column]

    def weights(self, rows: Array) -> Array:
        """Return a class's row of `tables.weights` [nodes]."""
        return self.arrays.tables.weights[rows[self.pod_class]]

    def pods_near(self, terms: Terms | SpreadTerms, weights: Array = 1) -> Array:
        """Add up the pods that each term counts in the node's domain, times their weights [nodes]."""
        counts = self.arrays.state.counts[terms.query[self.pod_class]]
        domain = self.arrays.nodes.domain[terms.key[self.pod_class]]
        return domain_sums(self.arrays, counts * weights, domain).sum(axis=0)

    def nothing(self) -> Array:
        """Return zeros [nodes]."""
        return self.xp.zeros(self.is_real.shape, self.xp.float64)

    def cut(self, values: Array, low: float = 0.0) -> Array:
        """Cut to `low`..1."""
        return self.xp.clip(values, low, 1.0)

    def saturated(self, values: Array, half: float) -> Array:
        """Return v / (v + half): rises from 0 towards 1, and is one half at `half`."""
        values = self.xp.maximum(values, 0.0)
        return values / (values + half)

    def limit(self, limits: Array, half: float) -> Array:
        """Return a class's limit, saturated; 0 where there is none."""
        limit = limits[self.pod_class]
        return self.saturated(self.xp.where(self.xp.isfinite(limit), limit, 0.0), half)

    def reading(self, values: Array, is_known: Array, half: float) -> Array:
        """Return a reading, saturated; 0 where it is not known [nodes]."""
        return self.saturated(self.xp.where(self.known(values, is_known), values, 0.0), half)

    def known(self, values: Array, is_known: Array) -> Array:
        """Say which readings can be used: a source that answers with no number has not answered."""
        return is_known & self.xp.isfinite(values)

    def is_within(self, limit_ms: Array) -> Array:
        """Say where the latency keeps a limit [nodes]; without one everywhere, without a reading nowhere."""
        keeps = self.latency_known & (self.arrays.readings.latency_ms <= limit_ms)
        return keeps | ~self.xp.isfinite(limit_ms)

    def mean(self, values: Array) -> Array:
        """Return the mean over the nodes, 0 where there are none."""
        return self.xp.where(self.is_real, values, 0.0).sum() / self.xp.maximum(self.is_real.sum(), 1)

    def most(self, values: Array) -> Array:
        """Return the largest of values that are not negative, 0 where there are no nodes."""
        return self.xp.where(self.is_real, values, 0).max()

    def of_most(self, values: Array, most: Array = None) -> Array:
        """Divide by the largest size of a value over the nodes, to -1..1; 0 where all are 0."""
        most = self.most(self.xp.abs(values)) if most is None else most
        return self.cut(self.xp.where(most > 0, values / self.xp.where(most > 0, most, 1), 0.0), -1.0)

    def _share(self, column: int, added: Array) -> Array:
        """Return (requested + added) / allocatable; what a node has none of counts as used up if it is asked for."""
        allocatable = self.arrays.nodes.allocatable[:, column]
        requested = self.arrays.state.requested[:, column] + added
        share = requested / self.xp.maximum(allocatable, 1)
        return self.cut(self.xp.where(allocatable > 0, share, (requested > 0) * 1.0))
