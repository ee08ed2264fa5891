"""Random traces with every kind of event, over the rich clusters that the oracle's cases are made of."""

import random
from dataclasses import replace

import msgspec

from longshore.core.words.node import NodeReadings
from longshore.core.words.pod import GpuRequest, Owner, Pod
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.kube.dump import read_objects
from longshore_lab.oracle.cases import make_case


def random_trace(seed: int, *, pods: int = 30, has_node_events: bool = True) -> Trace:
    """Make a trace of a few minutes; pods of many classes come, wait, leave and are deleted."""
    rng = random.Random(seed)
    snapshot = _snapshot(seed)
    nodes = tuple(
        replace(
            node,
            readings=NodeReadings(latency_ms=float(rng.randint(5, 45))) if rng.random() < 0.9 else NodeReadings(),
            gpu_count=rng.choice((0, 1, 2)),
            gpu_model=rng.choice(("T4", "V100")),
        )
        for node in snapshot.nodes
    )
    names = [node.name for node in nodes]
    made = [_pod(rng, number, rng.choice(snapshot.pods)) for number in range(pods)]
    events: list[Event] = []
    time = 0.0
    for number, pod in enumerate(made):
        time = round(time + rng.expovariate(1.0), 3)
        events.append(Create(time, pod, None if rng.random() < 0.2 else round(rng.expovariate(0.1), 3)))
        if rng.random() < 0.15:
            events.append(Delete(time, rng.choice(made[: number + 1]).key))
        if rng.random() < 0.3:
            events.append(_other_event(rng, time, names, has_node_events))
    absent = frozenset(rng.sample(names, 1)) if has_node_events and len(names) > 1 else frozenset()
    parts = {name: getattr(snapshot, name) for name in ("namespaces", "services", "controllers", "volumes", "claims")}
    return Trace(nodes, tuple(events), absent, **parts)


def _other_event(rng: random.Random, time: float, names: list[str], has_node_events: bool) -> Event:
    node, kind = rng.choice(names), rng.random()
    if not has_node_events or kind < 0.4:
        return LatencyChange(time, ((node, float(rng.randint(5, 60))),))
    if kind < 0.7:
        return NodeJoin(time, node)
    return NodeFail(time, node) if kind < 0.85 else NodeDrain(time, node)


def _pod(rng: random.Random, number: int, like: Pod) -> Pod:
    spec = like.spec
    if rng.random() < 0.2:
        spec = replace(spec, latency_soft_ms=20.0, latency_hard_ms=30.0)
    if rng.random() < 0.2:
        spec = replace(spec, gpu=GpuRequest(1, rng.choice((300, 600, 1000)), rng.choice(((), ("T4",)))))
    if rng.random() < 0.15:
        spec = replace(spec, owner=Owner("apps/v1", "DaemonSet", "own"))
    return Pod(f"pod-{number}", spec)


def _snapshot(seed: int):
    """Take the first case of a series that has several nodes and pods."""
    for index in range(1000):
        case = make_case(seed, index)
        kinds = [item["kind"] for item in case["items"]]
        if kinds.count("Node") >= 3 and kinds.count("Pod") >= 5:
            return read_objects(
                [msgspec.Raw(msgspec.json.encode(item)) for item in (*case["items"], {**case["pod"], "kind": "Pod"})]
            ).snapshot
    raise AssertionError("no case with several nodes and pods")
