"""Small random traces, and the best placements by trying all of them."""

import random
from dataclasses import dataclass
from itertools import product

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place, remove
from longshore.core.arrays.power import cluster_watts
from longshore.core.words.node import Node
from longshore.core.words.pod import Pod
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, Trace
from longshore.evaluation.packing import Packing
from longshore.evaluation.timeline import Departure, happenings, window
from longshore.objectives.base import Objective, Transition
from longshore.simulator.params import Compiled
from support.builders import make_node, make_pod


def unlike_nodes(rng: random.Random, number: int = 3) -> tuple[Node, ...]:
    """Make nodes of different sizes, curves and latencies; two of them often are alike."""
    return tuple(
        make_node(f"node-{i}")
        .cpu(rng.choice([2000, 4000]))
        .memory("8Gi")
        .power(*rng.choice([(100.0, 180.0, 300.0), (40.0, 90.0, 200.0)]))
        .readings(latency_ms=rng.choice([10.0, 18.0, 26.0]))
        .build()
        for i in range(number)
    )


def small_pod(name: str) -> Pod:
    """A pod of which a small node holds four."""
    return make_pod(name).cpu(500).memory("256Mi").latency(20.0, 30.0).build()


def clearing_trace(seed: int, *, pods: int = 5) -> Trace:
    """Identical pods come one by one and leave together, then two more come; a latency changes on the way."""
    rng = random.Random(seed)
    nodes = unlike_nodes(rng)
    first, later = pods - 2, ("late-0", "late-1")
    events: list[Event] = [Create(float(i), small_pod(f"pod-{i}")) for i in range(first)]
    events.insert(1, LatencyChange(0.5, ((rng.choice(nodes).name, 40.0),)))
    events += [Delete(10.0, f"default/pod-{i}") for i in range(first)]
    events += [Create(12.0 + i, small_pod(name)) for i, name in enumerate(later)]
    return Trace(nodes, tuple(events), end=20.0)


def rolling_trace(seed: int, *, pods: int = 6, kept: int = 3) -> Trace:
    """Identical pods, the oldest replaced by a new one; some leave by themselves."""
    rng = random.Random(seed)
    nodes = unlike_nodes(rng)
    events: list[Event] = []
    for number in range(pods):
        time = 2.0 * number
        if number == pods // 2:
            events.append(LatencyChange(time - 0.5, ((rng.choice(nodes).name, 40.0),)))
        if number >= kept:
            events.append(Delete(time - 0.25, f"default/pod-{number - kept}"))
        lifetime = rng.choice([None, 5.0])
        events.append(Create(time, small_pod(f"pod-{number}"), lifetime))
    return Trace(nodes, tuple(events), end=2.0 * pods)


def newest_first_trace() -> Trace:
    """Identical pods of which the newest leaves, while another node has become the fast one.

    If any pod could leave, those on the slow node would, and the relaxed optimum is out of reach.
    """
    nodes = [make_node("a").readings(latency_ms=10.0)]
    nodes += [make_node(name).readings(latency_ms=40.0) for name in ("b", "c")]
    events: list[Event] = [Create(0.0, small_pod("old-0")), Create(1.0, small_pod("old-1"))]
    events.append(LatencyChange(2.0, (("a", 40.0), ("b", 10.0))))
    for number in range(4):
        events.append(Create(3.0 + 2 * number, small_pod(f"new-{number}")))
        events.append(Delete(4.0 + 2 * number, f"default/new-{number}"))
    return Trace(tuple(node.power(100.0, 180.0, 300.0).build() for node in nodes), tuple(events), end=12.0)


def mixed_trace(seed: int, *, pods: int = 14) -> Trace:
    """Pods of several sizes come and go, some bound to a zone."""
    rng = random.Random(seed)
    nodes = tuple(
        make_node(f"node-{i}")
        .cpu(rng.choice([2000, 4000]))
        .memory(f"{rng.choice([4, 8])}Gi")
        .label("zone", "ab"[i % 2])
        .power(*rng.choice([(100.0, 180.0, 300.0), (40.0, 150.0, 200.0)]))
        .build()
        for i in range(4)
    )
    events: list[Event] = []
    time = 0.0
    for number in range(pods):
        time = round(time + rng.expovariate(0.5), 3)
        pod = make_pod(f"pod-{number}").cpu(rng.choice([250, 500, 1250])).memory(f"{rng.choice([256, 1024])}Mi")
        if rng.random() < 0.4:
            pod = pod.node_selector("zone", rng.choice("ab"))
        events.append(Create(time, pod.build(), round(rng.expovariate(0.15), 3)))
    return Trace(nodes, tuple(events))


@dataclass
class Best:
    """The best of every metric over all ways to place the pods; less is better but for the reward."""

    reward: float = -np.inf
    active_nodes: float = np.inf
    watts: float = np.inf
    watts_idle_off: float = np.inf


def try_all(compiled: Compiled, objective: Objective) -> Best:
    """Try every node for every pod, with nothing but the functions that live code uses."""
    trace = compiled.trace
    happening = [event for event in happenings(trace) if event.time <= window(trace).end]
    best = Best()
    start = compiled.params.latency_ms[0].copy()
    _branch(compiled, objective, happening, 0, compiled.params.cluster, {}, start, np.zeros(4), best)
    return best


def _branch(
    compiled: Compiled,
    objective: Objective,
    happening: list[Event | Departure],
    number: int,
    arrays: ClusterArrays,
    places: dict[str, int],
    latency_ms: Array,
    sums: Array,
    best: Best,
) -> None:
    start, end = window(compiled.trace)
    at = happening[number].time if number < len(happening) else end
    since = happening[number - 1].time if number else start
    held = [
        0.0,
        float(is_on(arrays).sum()),
        float(cluster_watts(arrays, switch_off_idle=False)),
        float(cluster_watts(arrays, switch_off_idle=True)),
    ]
    sums = sums + np.array(held) * (at - since)
    if number == len(happening):
        best.reward = max(best.reward, sums[0])
        for name, value in zip(("active_nodes", "watts", "watts_idle_off"), sums[1:] / (end - start), strict=True):
            setattr(best, name, min(getattr(best, name), value))
        return
    event, pod_class = happening[number], np.asarray(0)
    rest = (compiled, objective, happening, number + 1)
    devices = np.zeros(arrays.state.gpu_used.shape[1], np.int64)
    if isinstance(event, LatencyChange):
        changed = latency_ms.copy()
        for name, milliseconds in event.latency_ms:
            changed[compiled.encoded.node_index[name]] = milliseconds
        _branch(*rest, arrays, places, changed, sums, best)
    elif isinstance(event, Create):
        before = arrays._replace(readings=arrays.readings._replace(latency_ms=latency_ms))
        for node in np.flatnonzero(filters.feasible(before, pod_class)):
            after = place(before, pod_class, np.asarray(node), devices)
            earned = objective.reward(Transition(before, after, pod_class, np.asarray(node)))
            gained = sums + np.array([float(earned), 0.0, 0.0, 0.0])
            _branch(*rest, after, places | {event.pod.key: int(node)}, latency_ms, gained, best)
    else:
        assert isinstance(event, Delete | Departure)
        others = {key: node for key, node in places.items() if key != event.pod}
        if event.pod in places:
            arrays = remove(arrays, pod_class, np.asarray(places[event.pod]), devices)
        _branch(*rest, arrays, others, latency_ms, sums, best)


def random_packing(seed: int, *, is_convex: bool = True) -> tuple[Packing, Array]:
    """Make three groups of pods and three nodes, and how many pods there are of each group."""
    rng = np.random.default_rng(seed)
    request = np.column_stack([rng.integers(1, 5, (3, 2)) * 250, np.ones(3, np.int64)])
    capacity = np.column_stack([rng.integers(4, 9, (3, 2)) * 250, rng.integers(3, 6, 3)])
    allowed = rng.random((3, 3)) < 0.8
    allowed[:, 0] = True
    allowed &= (request[:, None, :] <= capacity[None]).all(axis=2)
    idle, steps = rng.uniform(20, 100, 3), np.sort(rng.uniform(10, 100, (3, 2)), axis=1)
    if not is_convex:
        steps = steps[:, ::-1]
    curve = np.column_stack([idle, idle + steps[:, 0], idle + steps.sum(axis=1)])
    return Packing(request, allowed, capacity, curve, np.zeros(0, np.int64), True), rng.integers(0, 3, 3)


def try_all_packings(packing: Packing, counts: Array) -> dict[str, float]:
    """Try every node for every pod; inf = they do not fit."""
    groups = np.repeat(np.arange(len(counts)), counts)
    best = dict.fromkeys(("nodes", "watts_idle_on", "watts_idle_off"), np.inf)
    points = np.linspace(0.0, 1.0, packing.power_curve.shape[1])
    for nodes in product(range(len(packing.capacity)), repeat=len(groups)):
        load = np.zeros(packing.capacity.shape)
        np.add.at(load, list(nodes), packing.request[groups])
        if (load > packing.capacity).any() or not packing.allowed[groups, list(nodes)].all():
            continue
        curves = zip(load[:, 0] / packing.capacity[:, 0], packing.power_curve, strict=True)
        watts = np.array([np.interp(use, points, curve) for use, curve in curves])
        is_on = load[:, -1] > 0
        found = {"nodes": is_on.sum(), "watts_idle_on": watts.sum(), "watts_idle_off": watts[is_on].sum()}
        best = {name: min(best[name], float(found[name])) for name in best}
    return best
