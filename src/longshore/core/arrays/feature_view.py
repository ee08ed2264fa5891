"""What features are computed from: one cluster and one pod, with the amounts that several features share.

A view lives for one call of `arrays.features.features`; what it works out is kept, so that NumPy computes it once (JAX
would find that out by itself). Everything is over all nodes at once; pools are over the real ones. A part of a view is
of some of the nodes alone: for features that depend on no other node, by whoever keeps the rest (`policies.row_cache`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from longshore.core.arrays import fragmentation, gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays, SpreadTerms, Terms, is_on, rows_of
from longshore.core.arrays.fragmentation import Offer
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import CPU_COLUMN, cpu_millis_left, watts_at
from longshore.core.arrays.topology import domain_sums, sums_of_domains
from longshore.core.words.resources import CORE_RESOURCES, MEMORY

MEMORY_COLUMN = CORE_RESOURCES.index(MEMORY)


_BOTH = slice(CPU_COLUMN, MEMORY_COLUMN + 1)
"""The columns of CPU and memory, which stand side by side."""
BLOCK = (
    "node_cpu_used",
    "node_memory_used",
    "node_pods_used",
    "node_cpu_free",
    "node_memory_free",
    "node_is_on",
    "after_cpu_used",
    "after_memory_used",
    "after_pods_used",
    "after_imbalance",
)
"""Features that are the rows of `View.block`."""
_NOW, _FREE, _IS_ON, _AFTER, _IMBALANCE = slice(0, 3), slice(3, 5), 5, slice(6, 9), 9
_OF_NODES = (
    "xp",
    "is_real",
    "is_all_real",
    "num_real",
    "largest",
    "_allocatable",
    "_largest_sizes",
    "_divisors",
    "_asked",
    "_curves",
    "_used_terms",
    "_has_own_domain",
)
"""What of a view depends on the nodes and classes alone."""


class _kept:  # noqa: N801 — a decorator
    """As `functools.cached_property`, without the lock that it takes in Python 3.11: a view is one thread's."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, view: Any, owner: Any = None) -> Any:
        value = view.__dict__[self.name] = self.compute(view)
        return value


@lru_cache(maxsize=4)
def _bounds(nodes: int) -> tuple[Array, Array]:
    """Return zeros and ones, with which the block is cut."""
    return np.zeros((_IMBALANCE, nodes)), np.ones((_IMBALANCE, nodes))


class Largest(NamedTuple):
    """The most that any node has; it changes only with the nodes themselves."""

    cpu: Array
    memory: Array
    watts: Array


class _Curves(NamedTuple):
    """Curves of all nodes, one behind the other."""

    points: Array  # [nodes · points] float64 watts
    rises: Array  # [nodes · points] float64; to the next point, 0 at the last
    first: Array  # [nodes] float64; place of the node's first point
    steps: Array  # [nodes] float64; of the curve; 0 for a node without CPU, which is idle as a load


@dataclass(frozen=True)
class View:
    """A cluster as one pod sees it."""

    arrays: ClusterArrays
    pod_class: Array  # [] int; or, where the cluster is a single node, [classes]: features are of classes then
    feasible: Array  # [nodes] bool
    known_largest: Largest | None = None
    """Of the whole cluster, where the view is of a part of it."""
    known_take: Take | None = None
    """What the pod takes from the GPUs, where that is decided."""

    def part(self, index: Any) -> "View":
        """Return the view of some nodes alone; what is by the largest node stays by the largest of all.

        Only features that depend on no other node can be computed from it.
        """
        return View(rows_of(self.arrays, index), self.pod_class, self.feasible[index], self.largest)

    def later(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> "View":
        """Return the view of the same nodes and classes at another moment; what depends on them alone is kept."""
        view = object.__new__(View)  # a frozen class sets its fields one by one, in three times the time
        view.__dict__.update(self._of_nodes, arrays=arrays, pod_class=pod_class, feasible=feasible)
        return view

    @_kept
    def _of_nodes(self) -> dict[str, Any]:
        """Return what depends on nodes and classes alone, by name."""
        return {name: getattr(self, name) for name in _OF_NODES}

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
        """Say which nodes are on [nodes]; where there is a block as 0.0 and 1.0."""
        return self.block[_IS_ON] if self._has_all_at_once else is_on(self.arrays)

    @_kept
    def cpu_used(self) -> Array:
        """Return the requested share of CPU [nodes], 0 to 1."""
        return self.block[0] if self._has_all_at_once else self._share(CPU_COLUMN, 0)

    @_kept
    def memory_used(self) -> Array:
        """Return the requested share of memory [nodes], 0 to 1."""
        return self.block[1] if self._has_all_at_once else self._share(MEMORY_COLUMN, 0)

    @_kept
    def cpu_after(self) -> Array:
        """Return the requested share of CPU with the pod on the node [nodes], 0 to 1."""
        return self.block[6] if self._has_all_at_once else self._share(CPU_COLUMN, self.request(CPU_COLUMN))

    @_kept
    def memory_after(self) -> Array:
        """Return the requested share of memory with the pod on the node [nodes], 0 to 1."""
        return self.block[7] if self._has_all_at_once else self._share(MEMORY_COLUMN, self.request(MEMORY_COLUMN))

    @_kept
    def pods_used(self) -> Array:
        """Return the pods by the number that the node allows [nodes], 0 to 1."""
        return self.block[2] if self._has_all_at_once else self._share_of_pods(0)

    @_kept
    def pods_after(self) -> Array:
        """Return the same with the pod on the node [nodes], 0 to 1."""
        return self.block[8] if self._has_all_at_once else self._share_of_pods(1)

    @_kept
    def free(self) -> Array:
        """Return CPU and memory that are not requested, by the largest node's [2, nodes], 0 to 1."""
        if self._has_all_at_once:
            return self.block[_FREE]
        return self.cut((self._allocatable - self.arrays.state.requested[:, _BOTH].T) / self._largest_sizes)

    @_kept
    def after_imbalance(self) -> Array:
        """Return how far CPU and memory are apart with the pod on the node [nodes], 0 to 1."""
        return self.block[_IMBALANCE] if self._has_all_at_once else self.xp.abs(self.cpu_after - self.memory_after)

    @_kept
    def cpu_mean(self) -> Array:
        """Return the mean of `cpu_used` over the nodes."""
        return self._means[0] if self._has_all_at_once else self.mean(self.cpu_used)

    @_kept
    def memory_mean(self) -> Array:
        """Return the mean of `memory_used` over the nodes."""
        return self._means[1] if self._has_all_at_once else self.mean(self.memory_used)

    @_kept
    def on_share(self) -> Array:
        """Return the share of the nodes that are on."""
        return self._means[_IS_ON] if self._has_all_at_once else self.mean(self.is_on)

    @_kept
    def latency_known(self) -> Array:
        """Say which nodes have a latency that can be used [nodes]."""
        return self.known(self.arrays.readings.latency_ms, self.arrays.readings.latency_known)

    @_kept
    def num_real(self) -> Array:
        """Return the number of nodes, 1 where there are none."""
        return max(int(self.is_real.sum()), 1) if self.xp is np else self.xp.maximum(self.is_real.sum(), 1)

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
        return self._watts[0] if self._has_all_at_once else self._watts_at(self.cpu_used)

    @_kept
    def watts_after(self) -> Array:
        """Return what the node's curve says with the pod on the node [nodes]."""
        return self._watts[1] if self._has_all_at_once else self._watts_at(self.cpu_after)

    @_kept
    def watts_if_on(self) -> Array:
        """Return what the node draws where one that no pod keeps on is switched off [nodes]."""
        if self._has_all_at_once:  # 0 or 1 times as much: the same, in fewer calls
            return self.watts_now * self.is_on
        return self.xp.where(self.is_on, self.watts_now, 0.0)

    @_kept
    def watts_added_from_off(self) -> Array:
        """Return what the pod adds on the node, such nodes switched off [nodes]; one that keeps none on wakes none."""
        added, keeps = self.watts_after - self.watts_if_on, self.arrays.classes.keeps_on[self.pod_class]
        if self._has_all_at_once:
            return added if keeps else added * self.is_on
        return self.xp.where(self.is_on | (keeps > 0), added, 0.0)

    @_kept
    def gpu_milli(self) -> Array:
        """Return the size of all GPUs of a node together [nodes]."""
        return self.arrays.nodes.gpu_capacity.sum(axis=1)

    @_kept
    def take(self) -> Take:
        """Return what the pod takes from the GPUs: what it was said to, or what fits best."""
        if self.known_take is not None:
            return self.known_take
        return gpu.take_fullest(self.arrays, self.pod_class)

    @_kept
    def taken_milli(self) -> Array:
        """Return what the pod takes of all GPUs together [nodes]."""
        return self.take.count * self.take.milli

    @_kept
    def wants_share(self) -> Array:
        """Say whether the pod wants a part of a GPU."""
        return (self.take.milli > 0) & (self.take.milli < gpu.WHOLE_GPU_MILLI)

    @_kept
    def gpu_idle(self) -> Array:
        """Return what is left of all GPUs of a node together [nodes]."""
        return self.xp.maximum(gpu.free_milli(self.arrays), 0).sum(axis=1)

    @_kept
    def num_free(self) -> Array:
        """Return the GPUs of a node that nobody uses [nodes]."""
        nodes = self.arrays.nodes
        return ((nodes.gpu_capacity > 0) & (self.arrays.state.gpu_used == 0)).sum(axis=1)

    @_kept
    def num_free_after(self) -> Array:
        """Return the same with the pod on the node [nodes]."""
        return self.num_free - self.xp.where(self.take.left >= gpu.WHOLE_GPU_MILLI, self.take.count, 0)

    @_kept
    def cpu_left(self) -> Array:
        """Return the CPU of a node that is left [nodes]."""
        return cpu_millis_left(self.arrays)

    @_kept
    def cpu_left_after(self) -> Array:
        """Return the same with the pod on the node [nodes]."""
        return self.cpu_left - self.request(CPU_COLUMN)

    @_kept
    def offers(self) -> Offer:
        """Return what the GPUs offer to typical pods."""
        return fragmentation.offers(self.arrays)

    @_kept
    def fragment(self) -> Array:
        """Return the milli-GPU of every node that are free and of no use to typical pods [nodes]."""
        return fragmentation.fragment(self.arrays, self.offers, self.gpu_idle, self.cpu_left)

    @_kept
    def fragment_after(self) -> Array:
        """Return the same with the pod on the node [nodes]."""
        idle = self.gpu_idle - self.taken_milli
        return fragmentation.fragment_after(self.arrays, self.offers, self.take, idle, self.cpu_left_after)

    @_kept
    def potential(self) -> Array:
        """Return the milli-GPU of every node that typical pods could use [nodes]."""
        return fragmentation.potential(self.arrays, self.offers, self.cpu_left)

    @_kept
    def potential_after(self) -> Array:
        """Return the same with the pod on the node [nodes]."""
        return fragmentation.potential_after(self.arrays, self.offers, self.take, self.cpu_left_after)

    @_kept
    def _has_own_domain(self) -> list[bool]:
        """Say by which keys every node is a domain of its own, as by its host name, for NumPy."""
        # Domains of a key are numbered from 2 without gaps: only then is there a number beyond that of the nodes.
        domain = self.arrays.nodes.domain
        return [bool(row.max(initial=0) > row.size) for row in domain]

    @_kept
    def _has_all_at_once(self) -> bool:
        """Say whether `block` and what follows from it serve: in NumPy, for one pod."""
        return self.xp is np and np.ndim(self.pod_class) == 0

    @_kept
    def _has_cpu(self) -> Array:
        # A node without CPU is used up as a share, and idle as a load.
        return self.arrays.nodes.allocatable[:, CPU_COLUMN] > 0

    @_kept
    def _allocatable(self) -> Array:
        """Return CPU and memory of every node, float64 [2, nodes]: exact, since they are below 2^53."""
        return self.arrays.nodes.allocatable[:, _BOTH].T.astype(self.xp.float64)

    @_kept
    def _divisors(self) -> Array:
        """Return what the first rows of the block are divided by, for NumPy [9, nodes]."""
        divisors = np.ones((_IMBALANCE, self._allocatable.shape[1]))
        divisors[:2], divisors[2] = self._allocatable, self.arrays.nodes.allowed_pods
        np.maximum(divisors, 1.0, out=divisors)
        divisors[_FREE], divisors[_AFTER] = self._largest_sizes, divisors[_NOW]
        return divisors

    @_kept
    def _asked(self) -> Array:
        """Return CPU, memory and number of pods that a pod of every class takes, for NumPy [classes, 3, 1]."""
        request = self.arrays.classes.request[:, _BOTH]
        asked = np.ones((request.shape[0], 3, 1))
        asked[:, :2, 0] = request
        return asked

    @_kept
    def _largest_sizes(self) -> Array:
        """Return CPU and memory of the largest node, infinite where none has any [2, 1]."""
        most = self.xp.asarray([[self.largest.cpu], [self.largest.memory]])
        return self.xp.where(most > 0, most, self.xp.inf)

    @_kept
    def block(self) -> Array:
        """Return what only the node and the pod decide, each feature a row, for NumPy and one pod [10, nodes], 0 to 1.

        All at once, in the order of `BLOCK`: few calls count there, and XLA finds by itself what is needed.
        Amounts are exact, as they are below 2^53. A count of pods that is cut to 0..1 says whether there is any.
        """
        state, allocatable = self.arrays.state, self._allocatable
        zeros, ones = _bounds(allocatable.shape[1])
        block = np.empty((len(BLOCK), allocatable.shape[1]))
        cut, requested, imbalance = block[:_IMBALANCE], block[:2], block[_IMBALANCE]
        requested[...] = state.requested[:, _BOTH].T
        block[2], block[_IS_ON] = state.pod_count, state.keeping
        np.add(block[_NOW], self._asked[self.pod_class], out=block[_AFTER])
        np.subtract(allocatable, requested, out=block[_FREE])
        np.divide(cut, self._divisors, out=cut)
        np.maximum(cut, zeros, out=cut)  # with one number it takes twice as long
        np.minimum(cut, ones, out=cut)
        np.subtract(block[6], block[7], out=imbalance)
        np.abs(imbalance, out=imbalance)
        return block

    @_kept
    def _means(self) -> list[float]:
        """Return the means of the block's rows up to whether nodes are on, over the nodes, in one call."""
        rows = self.block[: _IS_ON + 1]
        sums = np.add.reduce(rows if self.is_all_real else np.where(self.is_real, rows, 0.0), axis=1)
        return [total / self.num_real for total in sums.tolist()]

    @_kept
    def _curves(self) -> "_Curves":
        """Return the nodes' curves as NumPy reads them fastest."""
        curve = self.arrays.nodes.power_curve
        rises = np.zeros(curve.shape)
        rises[:, :-1] = curve[:, 1:] - curve[:, :-1]
        points = curve.shape[1]
        return _Curves(curve.ravel(), rises.ravel(), np.arange(0.0, curve.size, points), self._has_cpu * (points - 1.0))

    @_kept
    def _watts(self) -> Array:
        """Return what the curves say now and after, for NumPy [2, nodes]: `arrays.power.watts_at` in fewer calls."""
        curves = self._curves
        position = self.block[:7:6] * curves.steps
        lower = np.floor(position)
        place = (lower + curves.first).astype(np.intp)
        position -= lower
        position *= curves.rises.take(place)
        position += curves.points.take(place)
        return position

    def _watts_at(self, cpu: Array) -> Array:
        return watts_at(self.arrays.nodes.power_curve, cpu * self._has_cpu)

    def request(self, column: int) -> Array:
        """Return what the pod asks for of a resource."""
        return self.arrays.classes.request[self.pod_class, column]

    def weights(self, rows: Array) -> Array:
        """Return a class's row of `tables.weights` [nodes]."""
        return self.arrays.tables.weights[rows[self.pod_class]]

    def has_terms(self, terms: Terms | SpreadTerms) -> bool:
        """Say whether the pod's class has such terms, as far as that can be known: JAX traces its programs for all."""
        return bool(self._used(terms)) if self.xp is np else terms.query.shape[1] > 0

    def _used(self, terms: Terms | SpreadTerms) -> list[tuple[int, int, int]]:
        """Return the pod's terms that are any, for NumPy: number, query and key; most classes have fewer than fit."""
        place = id(terms.query), int(self.pod_class)
        found: list[tuple[int, int, int]] | None = self._used_terms.get(place)
        if found is None:
            queries, keys = terms.query[self.pod_class].tolist(), terms.key[self.pod_class].tolist()
            found = [(i, query, key) for i, (query, key) in enumerate(zip(queries, keys, strict=True)) if query > 0]
            self._used_terms[place] = found
        return found

    @_kept
    def _used_terms(self) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
        """Return a place for what `_used` has found; classes, and with them these arrays, live as long as it does."""
        return {}

    def pods_near(self, terms: Terms | SpreadTerms, weights: Array = None) -> Array:
        """Add up the pods that each term counts in the node's domain, times their weights [nodes]."""
        counts = self.arrays.state.counts
        if self.xp is np:
            used = self._used(terms)
            sums = [self._in_domain(counts[query], key) for _, query, key in used]
            if weights is not None:
                sums = [counted * weights[number] for counted, (number, _, _) in zip(sums, used, strict=True)]
            return reduce(np.add, sums)
        query, key = terms.query[self.pod_class], terms.key[self.pod_class]
        counts = counts[query]
        if weights is not None:
            counts = counts * weights[:, None]
        return domain_sums(self.arrays, counts, self.arrays.nodes.domain[key]).sum(axis=0)

    def _in_domain(self, counts: Array, key: int) -> Array:
        """Sum counts [nodes] over each node's domain, back to [nodes]."""
        return counts if self._has_own_domain[key] else sums_of_domains(counts, self.arrays.nodes.domain[key])

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

    def signed_saturated(self, values: Array, half: float) -> Array:
        """Return v / (|v| + half): from -1 to 1, and one half at `half`."""
        return values / (self.xp.abs(values) + half)

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
        counted = self.real(values, 0.0)
        if self.xp is np:
            return np.add.reduce(counted) / self.num_real
        return counted.sum() / self.num_real

    def most(self, values: Array) -> Array:
        """Return the largest of values that are not negative, 0 where there are no nodes."""
        counted = self.real(values, 0)
        return np.maximum.reduce(counted) if self.xp is np else counted.max()

    def least(self, values: Array) -> Array:
        """Return the smallest of values that are not above 1, 1 where there are no nodes."""
        counted = self.real(values, 1.0)
        return np.minimum.reduce(counted) if self.xp is np else counted.min()

    def deviation(self, values: Array, mean: Array) -> Array:
        """Return the standard deviation over the nodes, 0 where there are none."""
        apart = self.real(values - mean, 0.0)
        if self.xp is np:
            return math.sqrt(np.vdot(apart, apart) / self.num_real)
        return self.xp.sqrt((apart**2).sum() / self.num_real)

    def real(self, values: Array, fill: float) -> Array:
        """Return values [nodes] with padding rows set to `fill`."""
        return values if self.is_all_real else self.xp.where(self.is_real, values, fill)

    def of_most(self, values: Array, most: Array = None) -> Array:
        """Divide by the largest size of a value over the nodes, to -1..1; 0 where all are 0.

        Where the largest is given (`most`), no value may be larger.
        """
        most = self.most(self.xp.abs(values)) if most is None else most
        if self.xp is np:  # one number: Python chooses ten times faster than NumPy
            return values / most if most > 0 else self.nothing()
        return values / self.xp.where(most > 0, most, self.xp.inf)

    def _share_of_pods(self, added: int) -> Array:
        return self.cut((self.arrays.state.pod_count + added) / self.xp.maximum(self.arrays.nodes.allowed_pods, 1))

    def _share(self, column: int, added: Array) -> Array:
        """Return (requested + added) / allocatable; what a node has none of counts as used up if it is asked for.

        Amounts are whole numbers: what is asked for where there is none is 1 or more, by 1.
        """
        allocatable = self.arrays.nodes.allocatable[:, column]
        return self.cut((self.arrays.state.requested[:, column] + added) / self.xp.maximum(allocatable, 1))
