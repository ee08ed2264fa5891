"""A closer bound on allocation, for policies that turn no pod away that fits: the tables ask that of all of them.

The program of `bounds.py` may choose which late pods to place, and leaves out those that waste the most. No policy of
the tables may. Of one class of pods, the gate, the first is turned away at some moment t; as no pod ever leaves,

    before t    every pod of the gate was placed
    from t on   none was, nor any pod that asks for at least as much of everything: where it fits, the gate would have

which are two more lines for the program, for each t. Which t a policy has, it decides, so that the bound is the highest
over all of them: for a range of t from a to b, the gate's pods before a are forced and those from b on are left out,
and the range with the highest value is halved until it is narrow. A narrow one is enough: no range is left out.
"""

import heapq

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.bounds import Demand, Supply, mean_counts, most_allocated, placeable
from longshore_studies.openb.tables.openb import GPU_MILLI

NARROW = 32
"""Arrivals: a range of so many is not halved any more."""


def gate_of(supply: Supply, demand: Demand, arrived: Array) -> int | None:
    """Return the class that shuts: of shares above half a GPU, the one most of which [classes] arrive.

    Any class makes a bound. Two of such a share do not go on one GPU, so that it shuts early and wastes much.
    """
    milli = np.where(demand.gpu_count == 1, demand.gpu_milli, 0)
    is_share = (milli > GPU_MILLI // 2) & (milli < GPU_MILLI) & placeable(supply, demand)
    asked = is_share * milli * arrived
    return int(asked.argmax()) if asked.any() else None


def most_allocated_with_gate(
    supply: Supply, demand: Demand, gate: int, class_of_arrival: Array, is_measured: Array, first: int
) -> float | None:
    """Return an upper bound on the GPU milli that is allocated in the mean over the measured arrivals.

    Args:
        supply: the nodes.
        demand: the pods; `forced` and `most` as for `most_allocated`.
        gate: a class.
        class_of_arrival: [arrivals].
        is_measured: [arrivals] bool; `most` is their mean.
        first: before this arrival no pod of the gate is turned away, as all are `forced`.

    Returns:
        None if the forced pods do not fit.
    """
    shut = _asks_as_much(demand, gate)

    def before(moment: int) -> Array:
        counts = mean_counts(class_of_arrival, is_measured, len(demand.most), moment)
        return np.minimum(counts, demand.most)  # those that fit nowhere have a `most` of 0

    def highest(start: int, end: int) -> float:
        forced = demand.forced.astype(float)
        forced[gate] = max(forced[gate], before(start)[gate])
        most = np.maximum(np.where(shut, before(end), demand.most), forced)
        try:
            return most_allocated(supply, demand._replace(forced=forced, most=most))
        except InputError:
            return -np.inf

    end = len(class_of_arrival)
    ranges = [(-highest(first, end), first, end)]
    while ranges[0][2] - ranges[0][1] > NARROW and np.isfinite(ranges[0][0]):
        _, start, end = heapq.heappop(ranges)
        middle = (start + end) // 2
        for part in ((start, middle), (middle, end)):
            heapq.heappush(ranges, (-highest(*part), *part))
    return -ranges[0][0] if np.isfinite(ranges[0][0]) else None


def _asks_as_much(demand: Demand, gate: int) -> Array:
    """Say which classes [classes] ask for at least as much as one in everything, the class itself included."""
    found: Array = (demand.gpu_count >= demand.gpu_count[gate]) & (demand.gpu_milli >= demand.gpu_milli[gate])
    found &= (demand.cpu_millis >= demand.cpu_millis[gate]) & (demand.memory >= demand.memory[gate])
    return found & (demand.allowed <= demand.allowed[gate]).all(axis=1)
