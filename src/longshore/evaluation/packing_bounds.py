"""Lower bounds for packing that cost next to nothing: how few nodes, how few watts, at every moment of a trace.

Nodes: for every resource, the fewest of the largest nodes that hold all that is asked for, also within each set of
nodes that some pods are confined to; and Martello and Toth's L2, which knows that two pods above half a node do not
share one. Watts: every node's curve is replaced by a straight line below it, and the CPU goes where it is cheapest.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import CPU_COLUMN
from longshore.core.words.errors import InputError
from longshore.evaluation.base import Bound
from longshore.evaluation.packing import Packing, make_packing, power_lines
from longshore.evaluation.timeline import Timeline, timeline
from longshore.simulator.params import Compiled

Metric = Literal["active_nodes", "watts", "watts_idle_off"]

_AtMoments = Callable[[Packing, Array, Array, Array], Array]
"""(packing, counts [moments, groups], nodes that are up, nodes that take pods) -> [moments]."""

METHOD = "bin packing"
# Each set of nodes is one more bound to take the largest of; with many sets the later ones seldom matter.
_MOST_NODE_SETS = 64


def bound_over_time(compiled: Compiled, metric: Metric) -> Bound:
    """Bound a time-weighted mean: at each moment the pods that exist then, packed as well as a bound can tell.

    Raises:
        InputError: if the metric has no such bound.
    """
    packing, moments = make_packing(compiled), timeline(compiled)
    total = moments.seconds.sum()
    values = bound_at_moments(packing, moments, metric)
    mean = float(values @ moments.seconds / total) if total > 0 else float(values[-1])
    return Bound(metric, mean, METHOD)


def bound_at_moments(packing: Packing, moments: Timeline, metric: Metric) -> Array:
    """Bound a metric at every moment [moments]."""
    bounds: dict[str, _AtMoments] = {
        "active_nodes": lambda packing, counts, _up, takes: fewest_nodes(packing, counts, takes),
        "watts": least_watts_idle_on,
        "watts_idle_off": least_watts_idle_off,
    }
    if metric not in bounds:
        raise InputError(f"`{metric}` has no packing bound", f"one of {', '.join(bounds)} has")
    values = np.zeros(len(moments.time))
    for part, counts in moments.counts(packing.group_of_pod, len(packing.request)):
        nodes = np.concatenate([moments.is_up[part], moments.takes_pods[part]], axis=1)
        sets, which = np.unique(nodes, axis=0, return_inverse=True)
        for number, row in enumerate(sets):
            is_here = which.reshape(-1) == number
            up, takes = np.split(row, 2)
            # Pods that no node takes now do not run, whoever schedules.
            can_run = (packing.allowed & takes).any(axis=1)
            values[part][is_here] = bounds[metric](packing, counts[is_here] * can_run, up, takes)
    return values


def fewest_nodes(packing: Packing, counts: Array, takes_pods: Array) -> Array:
    """Return a lower bound on the nodes that hold `counts` [moments, groups] of pods [moments]."""
    bound, apart = np.zeros(len(counts)), np.zeros(len(counts))
    is_used = np.zeros_like(takes_pods)
    for nodes in _node_sets(packing, takes_pods):
        # Pods that may go nowhere else must share these nodes.
        confined = ~(packing.allowed & takes_pods & ~nodes).any(axis=1)
        kept = counts * confined
        within = np.maximum(_largest_first(packing, kept, nodes), _l2(packing, kept, nodes))
        bound = np.maximum(bound, within)
        # What is needed in sets without a common node adds up; small sets first leave most of them apart.
        if not (is_used & nodes).any():
            apart, is_used = apart + within, is_used | nodes
    return np.minimum(np.maximum(bound, apart), takes_pods.sum())


def _node_sets(packing: Packing, takes_pods: Array) -> list[Array]:
    """Return each set that some group is confined to, small ones first, and all nodes."""
    sets = {row.tobytes(): row for row in packing.allowed & takes_pods if row.any()}
    ordered = sorted(sets.values(), key=lambda row: int(row.sum()))
    return [*ordered[:_MOST_NODE_SETS], takes_pods]


def _largest_first(packing: Packing, counts: Array, nodes: Array) -> Array:
    bound = np.zeros(len(counts))
    for resource in range(packing.request.shape[1]):
        asked = counts @ packing.request[:, resource]
        held = np.cumsum(np.sort(packing.capacity[nodes, resource])[::-1])
        needed = np.where(asked > 0, np.searchsorted(held, asked) + 1, 0)
        bound = np.maximum(bound, np.minimum(needed, len(held)))
    return bound


def _l2(packing: Packing, counts: Array, nodes: Array) -> Array:
    """Martello and Toth's L2 for every resource, with all nodes as large as the largest.

    For a threshold t: pods above C - t are alone, pods above C / 2 do not share; what pods from t to C / 2 ask for
    beyond the room beside the latter needs more nodes.
    """
    bound = np.zeros(len(counts))
    if not len(packing.capacity[nodes]):
        return bound  # no node takes pods at this moment, and none has any
    for resource in range(packing.request.shape[1]):
        size = packing.request[:, resource]
        largest = packing.capacity[nodes, resource].max()
        if not (2 * size > largest).any():
            continue
        for threshold in np.unique([0, *size[2 * size <= largest]]):
            is_alone = size > largest - threshold
            is_large = (2 * size > largest) & ~is_alone
            is_small = (size >= threshold) & (2 * size <= largest)
            room = counts @ np.where(is_large, largest - size, 0)
            rest = np.maximum(counts @ np.where(is_small, size, 0) - room, 0)
            num_large = counts @ (is_alone | is_large).astype(np.int64)
            bound = np.maximum(bound, num_large + -(-rest // max(largest, 1)))
    return bound


def least_watts_idle_on(packing: Packing, counts: Array, is_up: Array, takes_pods: Array) -> Array:
    """Return a lower bound on the watts [moments] where nodes without pods stay on."""
    lines = power_lines(packing)
    return lines.base[is_up].sum() + _cheapest_first(packing, counts, takes_pods, lines.slope)


def least_watts_idle_off(packing: Packing, counts: Array, _is_up: Array, takes_pods: Array) -> Array:
    """Return a lower bound on the watts [moments] where nodes without pods draw nothing."""
    lines = power_lines(packing)
    by_share = _cheapest_first(packing, counts, takes_pods, lines.share)
    # The fewest nodes draw at least what the most frugal of them draw when empty, and the CPU costs extra.
    number = fewest_nodes(packing, counts, takes_pods).astype(np.int64)
    bases = np.concatenate([[0.0], np.cumsum(np.sort(lines.base[takes_pods]))])
    return np.maximum(by_share, bases[number] + _cheapest_first(packing, counts, takes_pods, lines.slope))


def _cheapest_first(packing: Packing, counts: Array, nodes: Array, watts_per_milli: Array) -> Array:
    """Return the watts [moments] of the CPU that is asked for if the cheapest nodes are filled first."""
    asked = (counts @ packing.request[:, CPU_COLUMN]).astype(np.float64)
    order = np.flatnonzero(nodes)[np.argsort(watts_per_milli[nodes], kind="stable")]
    millis = packing.capacity[order, CPU_COLUMN].astype(np.float64)
    filled = np.concatenate([[0.0], np.cumsum(millis)])
    watts = np.concatenate([[0.0], np.cumsum(millis * watts_per_milli[order])])
    # Beyond all nodes the sum stays: such pods cannot all run.
    return np.interp(asked, filled, watts)
