"""How long one greedy decision takes in NumPy, from arrays to the chosen node: with and without the row cache.

A DeepSets network with random weights (they do not change the time) over the features that training picks for a
workload, on clusters of the workload `diurnal` with a few pods on every node. The pods to place are all of one class,
and between two decisions one pod is placed or removed: the usual case, one node changed. The filters are timed apart.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from longshore import filters
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import encode
from longshore.core.arrays.features import feature_specs
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.forward import needed, tensor_names
from longshore.core.words.trace import Create
from longshore.objectives.weighted import parse_objective
from longshore.policies.base import Policy, choose_node
from longshore.policies.learned import learned
from longshore.simulator.params import compile_trace
from longshore.training.run.probe import probe
from longshore.workloads.build import build_workload

DEFAULT_SIZES = (10, 100, 1000, 5000)
WORKLOADS = ("test1", "diurnal")
"""Whose features are timed: a plain workload's, and those of one with every constraint."""
_FILTERS = filters.filter_set("upstream+latency")
_PODS_PER_NODE = 4
_STATES = 8
_WARM_UP = 20


class Cell(NamedTuple):
    """One row of the table; times in microseconds."""

    nodes: int
    workload: str
    """Whose features they are."""
    features: int
    network: str
    median_us: float
    p99_us: float
    cached_median_us: float
    cached_p99_us: float
    ratio: float
    """With the cache by without."""
    filters_median_us: float


class Moment(NamedTuple):
    """A cluster, a pod to place, and where it may go."""

    arrays: ClusterArrays
    pod_class: Array
    feasible: Array


def measure(num_nodes: int, workload: str, repeats: int, series: int) -> Cell:
    """Time decisions on a cluster of a size: of several series of decisions the one with the lowest median."""
    policy = random_bundle(picked_features(workload))
    moments = there_and_back(num_nodes)
    plain, cached = learned(policy), learned(policy, keeps_rows=True)
    median, worst = _best(lambda: _times(_decision(plain), moments, repeats), series)
    cached_median, cached_worst = _best(lambda: _times(_decision(cached), moments, repeats), series)
    filtering, _ = _best(lambda: _times(_filter, moments, repeats), series)
    return Cell(
        nodes=num_nodes,
        workload=workload,
        features=len(policy.features),
        network=f"deepsets-{DeepSets().width}",
        median_us=median,
        p99_us=worst,
        cached_median_us=cached_median,
        cached_p99_us=cached_worst,
        ratio=cached_median / median,
        filters_median_us=filtering,
    )


@lru_cache(maxsize=8)
def picked_features(workload: str) -> tuple[str, ...]:
    """Return the features that training picks for a workload: those that vary."""
    trace = build_workload(workload, {}).trace(0)
    return probe([compile_trace(trace)], parse_objective("el-rl"), _FILTERS).features


def random_bundle(features: tuple[str, ...], seed: int = 0) -> Bundle:
    """Make a policy of random weights, as wide as trained ones."""
    blueprint = DeepSets().build(Sizes(len(features), 0))
    ops, draw = needed(blueprint.ops), np.random.default_rng(seed)
    shapes = {name: shape.shape for name, shape in blueprint.shapes}
    return Bundle(
        name="random",
        features=feature_specs(features),
        ops=ops,
        tensors={name: (draw.normal(size=shapes[name]) / 4).astype(np.float32) for name in tensor_names(ops)},
        objective="el-rl",
        envelope=Envelope((-1.0,) * len(features), (1.0,) * len(features)),
    )


@lru_cache(maxsize=1)
def there_and_back(num_nodes: int) -> tuple[Moment, ...]:
    """Make moments in a circle, of which each differs from the one before it by one pod on one node."""
    arrays, pod_class = _cluster(num_nodes)
    moments: list[Moment] = []
    for _ in range(_STATES):
        feasible = filters.feasible(arrays, pod_class, _FILTERS)
        moments.append(Moment(arrays, pod_class, feasible))
        # Anywhere but where the last ones went: a busy cluster.
        node = np.flatnonzero(feasible)[(len(moments) * 7919) % max(int(feasible.sum()), 1)]
        arrays = place(arrays, pod_class, node, np.zeros(arrays.state.gpu_used.shape[1], np.int64))
    return (*moments, *moments[-2:0:-1])


def _cluster(num_nodes: int) -> tuple[ClusterArrays, Array]:
    """Return a cluster with pods on its nodes, and the class that most of them are of."""
    trace = build_workload("diurnal", {"nodes": num_nodes, "pods": _PODS_PER_NODE * num_nodes}).trace(0)
    created = [event.pod for event in trace.events if isinstance(event, Create)]
    pods = tuple(
        replace(pod, bound_to=trace.nodes[number * 7919 % num_nodes].name) for number, pod in enumerate(created)
    )
    encoded = encode(replace(trace.snapshot(), pods=pods), filters.static_parts())
    classes = np.array([encoded.class_of(pod) for pod in pods])
    return encoded.arrays, np.asarray(np.bincount(classes).argmax())


def _decision(policy: Policy) -> Callable[[Moment], object]:
    def decide(moment: Moment) -> object:
        return choose_node(policy, *moment, wants_devices=False)

    return decide


def _filter(moment: Moment) -> object:
    return filters.feasible(moment.arrays, moment.pod_class, _FILTERS)


def _times(act: Callable[[Moment], object], moments: tuple[Moment, ...], repeats: int) -> list[float]:
    """Return microseconds of each of some calls, moment after moment."""
    turns = chain.from_iterable(moments for _ in range((repeats + _WARM_UP) // len(moments) + 1))
    times = []
    for number, moment in enumerate(turns):
        started = time.perf_counter_ns()
        act(moment)
        if number >= _WARM_UP:
            times.append((time.perf_counter_ns() - started) / 1e3)
    return times


def _best(run: Callable[[], list[float]], series: int) -> tuple[float, float]:
    """Return median and 99th percentile of the series with the lowest median: others use the machine too."""
    found = [(float(np.median(times)), float(np.percentile(times, 99))) for times in (run() for _ in range(series))]
    return min(found)


def blas_name() -> str:
    """Name the library that multiplies matrices, and say on how many threads it does that here."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    return (
        f"{blas['name']} {blas['version']}, products in blocks on the calling thread (core/arrays/ops.py: row_product)"
    )
