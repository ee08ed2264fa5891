"""What no policy can beat on a GPU trace: most GPU allocated, fewest nodes, least watts, by a configuration program.

Nodes that are alike form a group, pods that are alike a class. The linear program, solved by HiGHS, has

    x[c, g] pods of class c on nodes of group g       where a node of the group could hold one, alone
    y[g, p] GPUs of group g cut by pattern p          see `cutting.py`
    n[g]    nodes of group g that hold pods, at most as many as there are
    s[g]    active CPU sockets in the group, for watts only

    forced[c] <= Σ_g x[c, g] <= most[c]
    Σ GPUs of pods whose share is a or more, in g <= Σ_p y[g, p] · (cuts of a or more in p)     for each size a
    Σ_p y[g, p] <= gpus[g] · n[g]        CPU and memory of the pods in g <= theirs · n[g]

Why it is a bound: take any real placement. Each of its GPUs is cut by some pattern, or by one that a pattern of ours is
at least as good as; counting pods, GPUs and nodes by group gives x, y and n that satisfy every line above. So the real
placement is one of the points among which the program finds the best. Those points also include impossible ones, which
is why the bound may not be reached: parts of pods, nodes and GPUs; CPU and GPU of one pod on two nodes of a group; the
GPUs of one pod on two nodes of a group (a pod of 8 still only goes to groups whose nodes have 8).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import MILLIS_PER_SOCKET, SOCKET_ACTIVE_WATTS, SOCKET_IDLE_WATTS, gpu_watts, sockets
from longshore.core.words.errors import InputError, LongshoreError
from longshore_studies.openb.tables.cutting import cut_gpus

# Rounding inside the solver: a bound of 2.0000001 nodes is 2, not 3.
_TOLERANCE = 1e-6
_INFEASIBLE = 2


class Supply(NamedTuple):
    """Nodes in groups of equal ones."""

    cpu_millis: Array  # [groups] int64
    memory: Array  # [groups] int64, in the unit of the pods'
    gpus: Array  # [groups] int64
    model: tuple[str, ...]  # [groups]
    count: Array  # [groups] int64


class Demand(NamedTuple):
    """Pods in classes of equal ones.

    Counts may be means over several moments (`mean_counts`). The bound then holds for the mean over these moments of
    what a policy had reached: the mean of its x, y, n and s satisfies every line of the program, too.
    """

    cpu_millis: Array  # [classes] int64
    memory: Array  # [classes] int64
    gpu_count: Array  # [classes] int64
    gpu_milli: Array  # [classes] int64, of each GPU: 1000 = whole
    allowed: Array  # [classes, groups] bool: what the pods say about models; what fits is found out here
    forced: Array  # [classes]: so many must be placed
    most: Array  # [classes]: so many may be


def group_nodes(cpu_millis: Array, memory: Array, gpus: Array, models: Array) -> Supply:
    """Put equal nodes together; all arguments are [nodes]."""
    names, model = np.unique(np.asarray(models, str), return_inverse=True)
    rows, count = np.unique(np.stack([cpu_millis, memory, gpus, model.reshape(-1)], axis=1), axis=0, return_counts=True)
    return Supply(rows[:, 0], rows[:, 1], rows[:, 2], tuple(str(names[i]) for i in rows[:, 3]), count)


def group_pods(
    cpu_millis: Array, memory: Array, gpu_count: Array, gpu_milli: Array, allowed: Array
) -> tuple[Demand, Array]:
    """Put equal pods together: the classes, of which none is asked for yet, and the class of each pod [pods].

    `demand._replace(forced=counts, most=counts)` then asks for some of them, for instance those that have arrived.

    Args:
        cpu_millis: [pods], as are the next three.
        memory: in the unit of the nodes'.
        gpu_count: how many GPUs.
        gpu_milli: of each of them.
        allowed: [pods, groups] bool, by GPU model.
    """
    columns = np.stack([cpu_millis, memory, gpu_count, gpu_milli], axis=1)
    rows, class_of_pod = np.unique(np.concatenate([columns, allowed], axis=1), axis=0, return_inverse=True)
    nothing = np.zeros(len(rows), np.int64)
    demand = Demand(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4:].astype(bool), nothing, nothing)
    return demand, class_of_pod.reshape(-1)


def placeable(supply: Supply, demand: Demand) -> Array:
    """Say of which classes [classes] some node could hold a pod, alone.

    No policy ever places the others, so none of them should be forced.
    """
    return _fits(supply, demand).any(axis=1)


def mean_counts(class_of_arrival: Array, is_measured: Array, num_classes: int, before: int | None = None) -> Array:
    """Return how many pods of each class [classes] had arrived, in the mean over the measured arrivals.

    Args:
        class_of_arrival: `class_of_pod[order]` [arrivals].
        is_measured: [arrivals] bool: after which of them a metric is taken. One alone gives the counts up to it.
        num_classes: of the demand.
        before: count only pods that came before this arrival; None = all.
    """
    seen_by = np.cumsum(is_measured[::-1])[::-1]  # of the measured ones, as many come after it as have it
    return np.bincount(class_of_arrival[:before], seen_by[:before], num_classes) / is_measured.sum()


def most_allocated(supply: Supply, demand: Demand) -> float:
    """Return an upper bound on the GPU milli that can be allocated with all `forced` pods placed.

    A policy that has placed every one of those pods cannot be above it; one that has failed to can.

    Raises:
        InputError: if the forced pods do not fit, even in parts.
    """
    return most_allocated_forcing(supply, demand, {100: demand.forced})[0]


def most_allocated_forcing(supply: Supply, demand: Demand, forced: Mapping[int, Array]) -> tuple[float, int]:
    """Bound the allocation with as many pods forced as fit: tries the largest percentage first.

    Args:
        supply: the nodes.
        demand: the pods; its `forced` is not read.
        forced: for instance {90: pods among the first 90 % of demand [classes], 80: …}, each at most `demand.most`.

    Returns:
        The bound in milli, and the percentage that it holds for.

    Raises:
        InputError: if none of them fits.
    """
    for percent in sorted(forced, reverse=True):
        program = _Program(supply, demand._replace(forced=forced[percent]))
        value = program.least(program.allocation_cost())
        if value is not None:
            return -value, percent
    raise _do_not_fit(program)


def fewest_nodes(supply: Supply, demand: Demand) -> float:
    """Return a lower bound on the nodes that hold the forced pods; a whole number if the counts of pods are.

    Raises:
        InputError: if they do not fit, even in parts.
    """
    program = _Program(supply, demand._replace(most=demand.forced))
    value = program.least(program.node_cost(np.ones(len(supply.count))))
    if value is None:
        raise _do_not_fit(program)
    is_whole = (demand.forced == np.rint(demand.forced)).all()
    return float(math.ceil(value - _TOLERANCE)) if is_whole else value


def least_watts(supply: Supply, demand: Demand, *, idle_off: bool = False) -> float:
    """Return a lower bound on what the cluster draws with the forced pods placed, by PWR's model (`arrays.power`).

    Args:
        supply: the nodes.
        demand: the pods; its `most` is not read.
        idle_off: nodes without pods draw nothing, instead of what idle GPUs and sockets draw.

    Raises:
        InputError: if the forced pods do not fit, even in parts.
    """
    program = _Program(supply, demand._replace(most=demand.forced), has_sockets=True)
    idle, full = np.array([gpu_watts(model) for model in supply.model]).reshape(-1, 2).T
    empty = supply.gpus * idle + sockets(supply.cpu_millis) * SOCKET_IDLE_WATTS
    cost = program.gpu_cost(full - idle)
    cost += program.socket_cost(SOCKET_ACTIVE_WATTS - SOCKET_IDLE_WATTS)
    if idle_off:
        cost += program.node_cost(empty)
    value = program.least(cost)
    if value is None:
        raise _do_not_fit(program)
    return value if idle_off else value + float(empty @ supply.count)


def _do_not_fit(program: "_Program") -> InputError:
    demand = program.demand
    fits_somewhere = np.isin(np.arange(len(demand.forced)), program.pair_class)
    lost = np.flatnonzero((demand.forced > 0) & ~fits_somewhere)
    if len(lost):
        one = lost[0]
        return InputError(
            f"got a pod of {demand.cpu_millis[one]} milli-CPU, {demand.memory[one]} memory and {demand.gpu_count[one]}"
            f" x {demand.gpu_milli[one]} milli-GPU that fits on no node, expected pods that do",
            "leave out what is not `placeable`, or add a node for it",
        )
    return InputError(
        f"{demand.forced.sum():.0f} pods must be placed and do not fit on {int(program.supply.count.sum())} nodes,"
        " even in parts",
        "force fewer of them, for instance those up to a lower percentage of demand",
    )


_Entries = tuple[Array, Array, Array]
"""Rows, columns and values of a sparse matrix."""


class _Program:
    """Variables: x for every pair (class, group) that fits, y for every (group, pattern), then n, then s by group."""

    def __init__(self, supply: Supply, demand: Demand, *, has_sockets: bool = False) -> None:
        if (demand.forced > demand.most).any():
            raise InputError(
                f"got {demand.forced.sum():.0f} pods that must be placed, more of a class than the"
                f" {demand.most.sum():.0f} that there are; expected no more",
                "bound the allocation only where at least the forced pods have arrived",
            )
        self.supply, self.demand = supply, demand
        self.pair_class, self.pair_group = np.nonzero(_fits(supply, demand) & (demand.most > 0)[:, None])
        # Pods without GPUs need no cut, whatever share they name.
        self.cutting = cut_gpus(np.where(demand.gpu_count > 0, demand.gpu_milli, 0))
        num_groups, num_patterns = len(supply.count), len(self.cutting.patterns)
        self.groups = np.arange(num_groups)
        self.pairs = np.arange(len(self.pair_class))
        self.gpus = len(self.pairs) + np.arange(num_groups * num_patterns).reshape(num_groups, num_patterns)
        self.nodes = len(self.pairs) + self.gpus.size + self.groups
        self.sockets = self.nodes + num_groups if has_sockets else self.nodes[:0]
        self.num_variables = len(self.pairs) + self.gpus.size + len(self.nodes) + len(self.sockets)

    def least(self, cost: Array) -> float | None:
        """Return the least cost, or None if the forced pods do not fit."""
        upper = np.full(self.num_variables, np.inf)
        upper[self.nodes] = self.supply.count
        found = optimize.milp(cost, constraints=self._constraints(), bounds=optimize.Bounds(0.0, upper))
        if found.status == _INFEASIBLE:
            return None
        if found.fun is None:
            raise LongshoreError(f"the solver ended without a bound: {found.message}")
        return float(found.fun)

    def allocation_cost(self) -> Array:
        """Minus the milli that are allocated."""
        cost = np.zeros(self.num_variables)
        cost[self.pairs] = -(self.demand.gpu_count * self.demand.gpu_milli)[self.pair_class]
        return cost

    def gpu_cost(self, per_gpu: Array) -> Array:
        """So much for each GPU [groups] that is cut."""
        cost = np.zeros(self.num_variables)
        cost[self.gpus] = per_gpu[:, None]
        return cost

    def node_cost(self, per_node: Array) -> Array:
        """So much for each node [groups] with pods."""
        cost = np.zeros(self.num_variables)
        cost[self.nodes] = per_node
        return cost

    def socket_cost(self, per_socket: float) -> Array:
        """So much for each active socket."""
        cost = np.zeros(self.num_variables)
        cost[self.sockets] = per_socket
        return cost

    def _constraints(self) -> list[optimize.LinearConstraint]:
        counts = self._rows([(self.pair_class, self.pairs, np.ones(len(self.pairs)))], len(self.demand.most))
        rows = [*self._enough_cuts(), self._enough_gpus()]
        rows += [self._enough(self.demand.cpu_millis, self.supply.cpu_millis)]
        rows += [self._enough(self.demand.memory, self.supply.memory)]
        if len(self.sockets):
            rows += self._enough_sockets()
        return [
            optimize.LinearConstraint(counts, self.demand.forced, self.demand.most),
            optimize.LinearConstraint(sparse.vstack(rows).tocsr(), -np.inf, 0.0),
        ]

    def _enough_cuts(self) -> list[sparse.csr_array]:
        """Pods of share a or more need a cut of a or more; as any of them will do, no more than this is needed."""
        # Cuts of each size or more in each pattern [patterns, sizes].
        or_more = self.cutting.patterns[:, ::-1].cumsum(axis=1)[:, ::-1]
        needs = self.cutting.size_of_share[self.pair_class]
        found = []
        for size, cuts in zip(self.cutting.sizes, or_more.T, strict=True):
            wants, has = np.flatnonzero(needs >= size), np.flatnonzero(cuts)
            pods = (self.pair_group[wants], wants, self.demand.gpu_count[self.pair_class[wants]])
            cut = (np.repeat(self.groups, len(has)), self.gpus[:, has].ravel(), -np.tile(cuts[has], len(self.groups)))
            found.append(self._rows([pods, cut], len(self.groups)))
        return found

    def _enough_gpus(self) -> sparse.csr_array:
        cut = (np.repeat(self.groups, self.gpus.shape[1]), self.gpus.ravel(), np.ones(self.gpus.size))
        return self._rows([cut, (self.groups, self.nodes, -self.supply.gpus)], len(self.groups))

    def _enough(self, asked: Array, capacity: Array) -> sparse.csr_array:
        """As shares of a node, so that memory and milli-CPU are of one size to the solver."""
        scale = np.maximum(capacity, 1).astype(np.float64)
        pods = (self.pair_group, self.pairs, asked[self.pair_class] / scale[self.pair_group])
        return self._rows([pods, (self.groups, self.nodes, -capacity / scale)], len(self.groups))

    def _enough_sockets(self) -> list[sparse.csr_array]:
        """A node with the CPU u in use has ⌈u / 32 vCPU⌉ active sockets or more; so its group has at least

        - u / 32 of them, in sum;
        - one for each node with pods, if every pod asks for some CPU;
        - and of a CPU of q sockets and a rest r, what is used beyond q sockets takes a whole one, however small r is:
          u <= 32 · q · n + r · (s - q · n), which holds for every number of sockets that a node can have.
        """
        asked = self.demand.cpu_millis[self.pair_class] / MILLIS_PER_SOCKET
        used = (self.pair_group, self.pairs, asked)
        rows = [self._rows([used, (self.groups, self.sockets, -np.ones(len(self.groups)))], len(self.groups))]
        filled, rest = np.divmod(self.supply.cpu_millis, MILLIS_PER_SOCKET)
        rest = np.where(rest > 0, rest / MILLIS_PER_SOCKET, 1.0)
        beyond = [(self.groups, self.nodes, filled * (rest - 1)), (self.groups, self.sockets, -rest)]
        rows.append(self._rows([used, *beyond], len(self.groups)))
        if (self.demand.cpu_millis > 0).all():
            ones = np.ones(len(self.groups))
            at_least_one = [(self.groups, self.nodes, ones), (self.groups, self.sockets, -ones)]
            rows.append(self._rows(at_least_one, len(self.groups)))
        return rows

    def _rows(self, entries: list[_Entries], num_rows: int) -> sparse.csr_array:
        rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return sparse.csr_array((values.astype(np.float64), (rows, columns)), (num_rows, self.num_variables))


def _fits(supply: Supply, demand: Demand) -> Array:
    """Say which classes a node of each group could hold, alone [classes, groups]."""
    pairs = ((demand.cpu_millis, supply.cpu_millis), (demand.memory, supply.memory), (demand.gpu_count, supply.gpus))
    fits = np.asarray(demand.allowed, bool).copy()
    for asked, capacity in pairs:
        fits &= asked[:, None] <= capacity
    return fits
