"""How many decisions a policy makes in a second, as it would in a cluster: filters, scores and choice, in NumPy."""

import statistics
import time
from collections.abc import Callable

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.place import place
from longshore.deciding.decide import Chooser
from longshore.simulator.params import Compiled

Clock = Callable[[], float]


def decisions_per_second(
    compiled: Compiled,
    chooser: Chooser,
    *,
    most_decisions: int = 100,
    budget_seconds: float = 0.2,
    clock: Clock = time.perf_counter,
) -> float:
    """Place the trace's pods one after another and return decisions per second of the median decision, on one core.

    Nothing leaves: the cluster fills up, and starts again empty when a pod finds no place.
    """
    empty = compiled.params.cluster
    arrays = empty
    seconds: list[float] = []
    pods = compiled.params.pod_class[: len(compiled.pod_names)]
    # The first decision loads the filters and warms the caches.
    for number in range(-1, most_decisions if len(pods) else -1):
        pod_class = np.asarray(pods[max(number, 0) % len(pods)])
        started = clock()
        node = _decide(arrays, pod_class, chooser)
        taken = clock() - started
        if number >= 0:
            seconds.append(taken)
        arrays = _after(arrays, pod_class, node, chooser) if node >= 0 else empty
        if sum(seconds) > budget_seconds:
            break
    typical = statistics.median(seconds) if seconds else 0.0
    return 1.0 / typical if typical > 0 else 0.0


def _decide(arrays: ClusterArrays, pod_class: np.ndarray, chooser: Chooser) -> int:
    mask = filters.feasible(arrays, pod_class, chooser.filters)
    if not mask.any():
        return -1
    scores = chooser.heuristic.score(arrays, pod_class, mask)
    return int(chooser.heuristic.choose(arrays, scores, mask))


def _after(arrays: ClusterArrays, pod_class: np.ndarray, node: int, chooser: Chooser) -> ClusterArrays:
    devices = chooser.heuristic.devices(arrays, pod_class)[node]
    return place(arrays, pod_class, np.asarray(node), devices)
