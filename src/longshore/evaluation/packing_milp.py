"""Packing solved as a mixed-integer program by HiGHS: fewest nodes, or least watts, for pods that run together.

    x[g, n] pods of group g on node n, whole    y[n] node n is on, 0 or 1    w[n] watts of node n
    Σ_n x[g, n] = count[g]      Σ_g request[g, r] · x[g, n] <= capacity[n, r] · y[n]
    w[n] >= a · y[n] + b · CPU[n] for every straight piece (a, b) below the node's curve

Without the whole numbers it is the LP relaxation. A curve that is not convex is replaced by its convex hull, which is
below it.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize, sparse

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import CPU_COLUMN
from longshore.core.words.errors import InputError, LongshoreError
from longshore.evaluation.base import Bound
from longshore.evaluation.packing import Packing, make_packing
from longshore.evaluation.packing_bounds import METHOD, Metric, bound_at_moments
from longshore.evaluation.timeline import Timeline, timeline
from longshore.simulator.params import Compiled

Least = Literal["nodes", "watts_idle_on", "watts_idle_off"]
PeakMetric = Literal["peak_nodes", "peak_watts_idle_off"]
_PEAKS: dict[PeakMetric, tuple[Metric, Least]] = {
    "peak_nodes": ("active_nodes", "nodes"),
    "peak_watts_idle_off": ("watts_idle_off", "watts_idle_off"),
}

# Rounding inside the solver: a bound of 2.0000001 nodes is 2, not 3.
_TOLERANCE = 1e-6
_MOST_VARIABLES = 200_000


class Solution(NamedTuple):
    """What the solver found."""

    value: float
    """Of the best packing found; inf = none was found in time."""
    bound: float
    """No packing is below it."""
    gap: float
    """(value - bound) / value; 0 = proven optimal."""
    method: str


def peak_bound(compiled: Compiled, metric: PeakMetric = "peak_nodes", *, time_limit_seconds: float = 5.0) -> Bound:
    """Bound the most nodes that are ever on, or the most watts: the least that hold the pods of the busiest moment.

    Not exact: that moment's optimum may need the pods elsewhere than where they were put before.
    """
    over_time, least = _PEAKS[metric]
    packing, moments = make_packing(compiled), timeline(compiled)
    simple = Bound(metric, float(bound_at_moments(packing, moments, over_time).max()), METHOD)
    counts, takes_pods = _peak(packing, moments)
    try:
        found = solve_packing(packing, counts, takes_pods, least, time_limit_seconds=time_limit_seconds)
    except InputError:
        return simple
    if simple.value is not None and simple.value > found.bound:
        return simple
    return Bound(metric, found.bound, f"{found.method} at peak load")


def _peak(packing: Packing, moments: Timeline) -> tuple[Array, Array]:
    """Return the pods [groups] and nodes [nodes] of the moment at which the scarcest resource is asked for most."""
    best = -1.0
    for part, counts in moments.counts(packing.group_of_pod, len(packing.request)):
        takes = moments.takes_pods[part]
        running = counts * (takes @ packing.allowed.T)
        share = (running @ packing.request / np.maximum(takes @ packing.capacity, 1)).max(axis=1)
        moment = int(share.argmax())
        if share[moment] > best:
            best, at_peak = float(share[moment]), (running[moment], takes[moment])
    return at_peak


def solve_packing(
    packing: Packing,
    counts: Array,
    takes_pods: Array,
    least: Least = "nodes",
    *,
    is_relaxed: bool = False,
    time_limit_seconds: float = 10.0,
) -> Solution:
    """Find the fewest nodes, or the least watts, that hold `counts` [groups] of pods on the nodes that take pods.

    Args:
        packing: the problem.
        counts: pods of each group.
        takes_pods: [nodes] bool. With `watts_idle_on` these nodes are on, with or without pods.
        least: what to minimise.
        is_relaxed: solve the LP relaxation, in which pods and nodes can be divided.
        time_limit_seconds: then the best bound so far counts.

    Raises:
        InputError: if the pods do not fit, or there are too many of them and too many nodes.
    """
    model = _Model(packing, counts, takes_pods, least)
    if model.num_variables > _MOST_VARIABLES:
        raise InputError(
            f"the packing has {model.num_variables} variables, expected at most {_MOST_VARIABLES}",
            "use the bounds of `packing_bounds` for clusters of this size",
        )
    if counts.sum() == 0:
        return Solution(model.empty_cost, model.empty_cost, 0.0, "lp" if is_relaxed else "milp")
    found = optimize.milp(
        model.cost(),
        constraints=model.constraints(),
        integrality=np.zeros(model.num_variables) if is_relaxed else model.integrality(),
        bounds=model.bounds(),
        options={"time_limit": time_limit_seconds},
    )
    if found.status == 2:
        raise InputError("the pods do not fit the nodes", "give the cluster more nodes, or the workload fewer pods")
    if found.status not in (0, 1):
        raise LongshoreError(f"HiGHS ended with status {found.status}: {found.message}")
    return _solution(found, least, is_relaxed)


def _solution(found: optimize.OptimizeResult, least: Least, is_relaxed: bool) -> Solution:
    value = float("inf") if found.fun is None else float(found.fun)
    dual = value if is_relaxed or found.mip_dual_bound is None else float(found.mip_dual_bound)
    bound = min(value, dual) if np.isfinite(dual) else 0.0
    if least == "nodes":
        bound = float(np.ceil(bound - _TOLERANCE))
        value = value if is_relaxed or not np.isfinite(value) else float(np.rint(value))
    gap = 0.0 if value <= bound + _TOLERANCE * max(1.0, abs(value)) else (value - bound) / max(abs(value), 1e-12)
    return Solution(value, bound, gap, "lp" if is_relaxed else "milp")


class _Model:
    """Matrices of the program; variables are x (allowed pairs), then y (nodes), then w (nodes)."""

    def __init__(self, packing: Packing, counts: Array, takes_pods: Array, least: Least) -> None:
        used = np.flatnonzero(counts)
        self.nodes = np.flatnonzero(takes_pods)
        self.least = least
        self.counts = counts[used]
        self.request = packing.request[used]
        self.capacity = packing.capacity[self.nodes]
        self.curve = packing.power_curve[self.nodes]
        self.pair_group, self.pair_node = np.nonzero(packing.allowed[used][:, self.nodes])
        self.num_pairs, self.num_nodes = len(self.pair_group), len(self.nodes)
        self.num_variables = self.num_pairs + 2 * self.num_nodes
        self.empty_cost = float(self.curve[:, 0].sum()) if least == "watts_idle_on" else 0.0

    def cost(self) -> Array:
        zeros, ones = np.zeros(self.num_nodes), np.ones(self.num_nodes)
        per_node = (ones, zeros) if self.least == "nodes" else (zeros, ones)
        return np.concatenate([np.zeros(self.num_pairs), *per_node])

    def integrality(self) -> Array:
        return np.concatenate([np.ones(self.num_pairs + self.num_nodes), np.zeros(self.num_nodes)])

    def bounds(self) -> optimize.Bounds:
        lower = np.zeros(self.num_variables)
        # A node that stays on draws power with or without pods.
        lower[self.num_pairs : self.num_pairs + self.num_nodes] = self.least == "watts_idle_on"
        upper = np.concatenate(
            [self.counts[self.pair_group], np.ones(self.num_nodes), np.full(self.num_nodes, np.inf)]
        ).astype(np.float64)
        return optimize.Bounds(lower, upper)

    def constraints(self) -> list[optimize.LinearConstraint]:
        rows = [self._every_pod_runs(), *self._nothing_overflows(), self._only_on_nodes_that_are_on()]
        if self.least != "nodes":
            rows.append(self._power())
        return rows

    def _every_pod_runs(self) -> optimize.LinearConstraint:
        ones = np.ones(self.num_pairs)
        shape = (len(self.counts), self.num_variables)
        matrix = sparse.csr_array((ones, (self.pair_group, np.arange(self.num_pairs))), shape)
        return optimize.LinearConstraint(matrix, self.counts, self.counts)

    def _nothing_overflows(self) -> list[optimize.LinearConstraint]:
        found = []
        for resource in range(self.request.shape[1]):
            size = self.request[:, resource]
            if not size.any():
                continue
            # In shares of the largest node, so that bytes and milli-CPUs are of one size to the solver.
            scale = float(max(self.capacity[:, resource].max(), 1))
            matrix = self._pairs_and_nodes(size[self.pair_group] / scale, -self.capacity[:, resource] / scale)
            found.append(optimize.LinearConstraint(matrix, -np.inf, 0.0))
        return found

    def _only_on_nodes_that_are_on(self) -> optimize.LinearConstraint:
        """A pod that asks for nothing needs a node that is on too: x <= count · y, which also tightens the rest."""
        shape = (self.num_pairs, self.num_variables)
        pairs = np.arange(self.num_pairs)
        matrix = sparse.csr_array(
            (
                np.concatenate([np.ones(self.num_pairs), -self.counts[self.pair_group].astype(np.float64)]),
                (np.concatenate([pairs, pairs]), np.concatenate([pairs, self.num_pairs + self.pair_node])),
            ),
            shape,
        )
        return optimize.LinearConstraint(matrix, -np.inf, 0.0)

    def _power(self) -> optimize.LinearConstraint:
        blocks = []
        cpu = np.maximum(self.capacity[:, CPU_COLUMN], 1).astype(np.float64)
        asked = self.request[self.pair_group, CPU_COLUMN] / cpu[self.pair_node]
        for base, slope in _convex_pieces(self.curve):
            matrix = self._pairs_and_nodes(asked * slope[self.pair_node], base)
            watts = sparse.csr_array(
                (-np.ones(self.num_nodes), (np.arange(self.num_nodes), self._watts_columns())), matrix.shape
            )
            blocks.append(matrix + watts)
        return optimize.LinearConstraint(sparse.vstack(blocks).tocsr(), -np.inf, 0.0)

    def _watts_columns(self) -> Array:
        return self.num_pairs + self.num_nodes + np.arange(self.num_nodes)

    def _pairs_and_nodes(self, per_pair: Array, per_node: Array) -> sparse.csr_array:
        """One row per node: what its pairs add, and what being on adds."""
        rows = np.concatenate([self.pair_node, np.arange(self.num_nodes)])
        columns = np.arange(self.num_pairs + self.num_nodes)
        values = np.concatenate([per_pair, per_node]).astype(np.float64)
        return sparse.csr_array((values, (rows, columns)), (self.num_nodes, self.num_variables))


def _convex_pieces(curve: Array) -> list[tuple[Array, Array]]:
    """Return straight lines (base, slope over use 0 to 1) [nodes] whose maximum is each curve's convex hull from below.

    The line through two points of the curve counts if no point is below it; the others are replaced by one that does.
    """
    points = curve.shape[1]
    if points == 1:
        return [(curve[:, 0], np.zeros(len(curve)))]
    use = np.linspace(0.0, 1.0, points)
    lines = []
    for first in range(points):
        for second in range(first + 1, points):
            slope = (curve[:, second] - curve[:, first]) / (use[second] - use[first])
            base = curve[:, first] - slope * use[first]
            is_below = (base[:, None] + slope[:, None] * use <= curve + _TOLERANCE).all(axis=1)
            lines.append((base, slope, is_below))
    fallback = np.array([next(i for i, line in enumerate(lines) if line[2][node]) for node in range(len(curve))])
    bases, slopes = np.array([line[0] for line in lines]), np.array([line[1] for line in lines])
    index = np.arange(len(curve))
    return [
        (
            np.where(is_below, base, bases[fallback, index]),
            np.where(is_below, slope, slopes[fallback, index]),
        )
        for base, slope, is_below in lines
        if is_below.any()
    ]
