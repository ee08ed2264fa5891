"""What features are computed from: one cluster and one pod, with the amounts that several features share.

A view lives for one call of `core.features.features`; what it works out is kept, so that NumPy computes it once (JAX
would find that out by itself). Everything is over all nodes at once; pools are over the real ones. A part of a view is
of some of the nodes alone: for features that depend on no other node, by whoever keeps the rest (`policies.row_cache`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays, SpreadTerms, Terms, rows_of
from longshore.core.fragmentation import node_fragment
from longshore.core.ops import Array, namespace
from longshore.core.power import CPU_COLUMN, watts_at
from longshore.core.resources import CORE_RESOURCES, MEMORY
from longshore.core.topology import domain_sums

MEMORY_COLUMN = CORE_RESOURCES.index(MEMORY)


_BOTH = slice(CPU_COLUMN, MEMORY_COLUMN + 1)
"""The columns of CPU and memory, which stand side by side."""


class _kept:  # noqa: N801 — a decorator
    """As `functools.cached_property`, without the lock that it takes in Python 3.11: a view is one thread's."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, view: Any, owner: Any = None) -> Any:
        value = view.__dict__[self.name] = self.compute(view)
        return value


class Largest(NamedTuple):
    """The most that any node has; it changes only with the nodes themselves."""

    cpu: Array
    memory: Array
    watts: Array


@dataclass(frozen=True)
class View:
    """A cluster as one pod sees it."""

    arrays: ClusterArrays
    pod_class: Array  # [] int
    feasible: Array  # [nodes] bool
    known_largest: Largest | None = None
    """Of the whole cluster, where the view is of a part of it."""

    def part(self, index: Any) -> "View":
        """Return the view of some nodes alone; what is by the largest node stays by the largest of all.

        Only features that depend on no other node can be computed from it.
        """
        return View(rows_of(self.arrays, index), self.pod_class, self.feasible[index], self.largest)

    @_kept
    def xp(self) -> Any:
        """Return the arrays' library."""
        return namespace(self.arrays.state.requested)

    @_kept
    def is_real(self) -> Array:
        """Say which rows are nodes [nodes]."""
        return self.arrays.nodes.is_real

    @_kept
    def is_on(self) -> Array:
        """Say which nodes have a pod [nodes]."""
        return self.is_real & (self.arrays.state.pod_count > 0)

    @_kept
    def cpu_used(self) -> Array:
        """Return the requested share of CPU [nodes], 0 to 1."""
        return self._shares_now[0] if self.xp is np else self._share(CPU_COLUMN, 0)

    @_kept
    def memory_used(self) -> Array:
        """Return the requested share of memory [nodes], 0 to 1."""
        return self._shares_now[1] if self.xp is np else self._share(MEMORY_COLUMN, 0)

    @_kept
    def cpu_after(self) -> Array:
        """Return the requested share of CPU with the pod on the node [nodes], 0 to 1."""
        return self._shares_after[0] if self.xp is np else self._share(CPU_COLUMN, self.request(CPU_COLUMN))

    @_kept
    def memory_after(self) -> Array:
        """Return the requested share of memory with the pod on the node [nodes], 0 to 1."""
        return self._shares_after[1] if self.xp is np else self._share(MEMORY_COLUMN, self.request(MEMORY_COLUMN))

    @_kept
    def cpu_mean(self) -> Array:
        """Return the mean of `cpu_used` over the nodes."""
        return self.mean(self.cpu_used)

    @_kept
    def latency_known(self) -> Array:
        """Say which nodes have a latency that can be used [nodes]."""
        return self.known(self.arrays.readings.latency_ms, self.arrays.readings.latency_known)

    @_kept
    def num_real(self) -> Array:
        """Return the number of nodes, 1 where there are none."""
        return self.xp.maximum(self.is_real.sum(), 1)

    @_kept
    def is_all_real(self) -> bool:
        """Say whether no row is padding, where that can be known: JAX traces its programs for both."""
        return self.xp is np and bool(self.is_real.all())

    @_kept
    def largest(self) -> Largest:
        """Return the most that any node has, and can draw."""
        if self.known_largest is not None:
            return self.known_largest
        nodes = self.arrays.nodes
        cpu, memory = (self.most(nodes.allocatable[:, column]) for column in (CPU_COLUMN, MEMORY_COLUMN))
        curves = nodes.power_curve if self.is_all_real else self.xp.where(self.is_real[:, None], nodes.power_curve, 0.0)
        return Largest(cpu, memory, curves.max())

    @_kept
    def watts_now(self) -> Array:
        """Return what the node's curve says [nodes], as if it was on."""
        return watts_at(self.arrays.nodes.power_curve, self.cpu_used * self._has_cpu)

    @_kept
    def watts_after(self) -> Array:
        """Return what the node's curve says with the pod on the node [nodes]."""
        return watts_at(self.arrays.nodes.power_curve, self.cpu_after * self._has_cpu)

    @_kept
    def gpu_milli(self) -> Array:
        """Return the size of all GPUs of a node together [nodes]."""
        return self.arrays.nodes.gpu_capacity.sum(axis=1)

    @_kept
    def fragment(self) -> Array:
        """Return the milli-GPU of every node that are free and of no use to typical pods [nodes]."""
        return node_fragment(self.arrays)

    @_kept
    def fragment_after(self) -> Array:
        """Return the same with the pod on the node, on the GPUs that fit best [nodes]."""
        state, nodes = self.arrays.state, self.arrays.nodes
        free = gpu.free_milli(self.arrays) - gpu.best_fit(self.arrays, self.pod_class)
        cpu = nodes.allocatable[:, CPU_COLUMN] - state.requested[:, CPU_COLUMN] - self.request(CPU_COLUMN)
        return node_fragment(self.arrays, free, cpu)

    @_kept
    def _has_cpu(self) -> Array:
        # A node without CPU is used up as a share, and idle as a load.
        return self.arrays.nodes.allocatable[:, CPU_COLUMN] > 0

    @_kept
    def _sizes(self) -> Array:
        """Return CPU and memory of every node, at least 1 [2, nodes]."""
        return self.xp.maximum(self.arrays.nodes.allocatable[:, _BOTH].T, 1)

    @_kept
    def _shares_now(self) -> Array:
        """Return both shares at once, for NumPy: few calls count there, and XLA finds what is needed [2, nodes]."""
        return self.cut(self.arrays.state.requested[:, _BOTH].T / self._sizes)

    @_kept
    def _shares_after(self) -> Array:
        requested = self.arrays.state.requested[:, _BOTH] + self.arrays.classes.request[self.pod_class, _BOTH]
        return self.cut(requested.T / self._sizes)

    def request(self, column: int) -> Array:
        """Return what the pod asks for of a resource."""
        return self.arrays.classes.request[self.pod_class, column]

    def weights(self, rows: Array) -> Array:
        """Return a class's row of `tables.weights` [nodes]."""
        return self.arrays.tables.weights[rows[self.pod_class]]

    def pods_near(self, terms: Terms | SpreadTerms, weights: Array = None) -> Array:
        """Add up the pods that each term counts in the node's domain, times their weights [nodes]."""
        query, key = terms.query[self.pod_class], terms.key[self.pod_class]
        if self.xp is np and not query.all():
            # Most classes have fewer terms than there is room for.
            used = query > 0
            query, key, weights = query[used], key[used], None if weights is None else weights[used]
        counts = self.arrays.state.counts[query]
        if weights is not None:
            counts = counts * weights[:, None]
        return domain_sums(self.arrays, counts, self.arrays.nodes.domain[key]).sum(axis=0)

    def nothing(self) -> Array:
        """Return zeros [nodes]."""
        return self.xp.zeros(self.is_real.shape, self.xp.float64)

    def cut(self, values: Array, low: float = 0.0) -> Array:
        """Cut to `low`..1."""
        # Not `clip`, which takes NumPy several times longer for few nodes.
        return self.xp.minimum(self.xp.maximum(values, low), 1.0)

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
        return self.real(values, 0.0).sum() / self.num_real

    def most(self, values: Array) -> Array:
        """Return the largest of values that are not negative, 0 where there are no nodes."""
        return self.real(values, 0).max()

    def real(self, values: Array, fill: float) -> Array:
        """Return values [nodes] with padding rows set to `fill`."""
        return values if self.is_all_real else self.xp.where(self.is_real, values, fill)

    def of_most(self, values: Array, most: Array = None) -> Array:
        """Divide by the largest size of a value over the nodes, to -1..1; 0 where all are 0."""
        most = self.most(self.xp.abs(values)) if most is None else most
        if self.xp is np:  # one number: Python chooses ten times faster than NumPy
            return self.cut(values / (most if most > 0 else np.inf), -1.0)
        return self.cut(values / self.xp.where(most > 0, most, self.xp.inf), -1.0)

    def _share(self, column: int, added: Array) -> Array:
        """Return (requested + added) / allocatable; what a node has none of counts as used up if it is asked for.

        Amounts are whole numbers: what is asked for where there is none is 1 or more, by 1.
        """
        allocatable = self.arrays.nodes.allocatable[:, column]
        return self.cut((self.arrays.state.requested[:, column] + added) / self.xp.maximum(allocatable, 1))
