"""How many decisions a policy makes in a second, as it would in a cluster: filters, scores and choice, in NumPy."""

import statistics
import time
from collections.abc import Callable

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.policies.base import Choice, Policy, choose_node
from longshore.simulator.params import Compiled

Clock = Callable[[], float]


def decisions_per_second(
    compiled: Compiled,
    policy: Policy,
    *,
    most_decisions: int = 100,
    budget_seconds: float = 0.2,
    clock: Clock = time.perf_counter,
) -> float:
    """Place the trace's pods one after another and return decisions per second of the median decision, on one core.

    Nothing leaves: the cluster fills up, and starts again empty when a pod finds no place.
    """
    empty, names = compiled.params.cluster, filters.filter_set(policy.filters)
    arrays = empty
    seconds: list[float] = []
    pods = compiled.params.pod_class[: len(compiled.pod_names)]
    # The first decision loads the filters and warms the caches.
    for number in range(-1, most_decisions if len(pods) else -1):
        pod_class = np.asarray(pods[max(number, 0) % len(pods)])
        started = clock()
        choice = _decide(arrays, pod_class, policy, names)
        taken = clock() - started
        if number >= 0:
            seconds.append(taken)
        arrays = empty if choice.node < 0 else place(arrays, pod_class, choice.node, choice.devices)
        if sum(seconds) > budget_seconds:
            break
    typical = statistics.median(seconds) if seconds else 0.0
    return 1.0 / typical if typical > 0 else 0.0


def _decide(arrays: ClusterArrays, pod_class: Array, policy: Policy, names: tuple[str, ...]) -> Choice:
    return choose_node(policy, arrays, pod_class, filters.feasible(arrays, pod_class, names))
