"""Random histories of a live cluster: everything that a watch can say, in any order, with the oracle's nasty specs."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from core.clusters import rich_snapshot
from longshore.core.arrays.live import LiveCluster
from longshore.core.words.labels import Requirement, Selector, freeze
from longshore.core.words.node import Image, Node, NodePower, NodeReadings, Taint
from longshore.core.words.pod import (
    AffinityTerm,
    Container,
    HostPort,
    Pod,
    PodSpec,
    SpreadConstraint,
    WeightedAffinityTerm,
)
from longshore.core.words.snapshot import Namespace, Snapshot
from longshore.filters import static_parts

_CASES = 3
_ADDRESSES = ("0.0.0.0", "10.0.0.1", "10.0.0.2")
_KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
_MB = 1024 * 1024


def histories(seed: int, num_moves: int, moves: "dict[Move, int] | None" = None) -> Iterator[tuple[str, LiveCluster]]:
    """Play moves on a cluster; yield what was done last, and the cluster."""
    moves = moves or MOVES
    rng = random.Random(seed)
    sources = [rich_snapshot(seed + case) for case in range(_CASES)]
    live = LiveCluster(static_parts(), seed=seed % 100)
    for node in sources[0].nodes:
        live.put_node(node)
    for pod in sources[0].pods:
        live.put_pod(pod)
    _put_context(rng, live, sources)
    yield "start", live
    done: list[str] = []
    for number in range(num_moves):
        move = rng.choices(list(moves), weights=list(moves.values()))[0]
        move(rng, live, sources)
        done.append(move.__name__)
        if rng.random() < 0.7:  # else several at once
            yield f"move {number}: {', '.join(done)}", live
            done.clear()


def _any_pod(rng: random.Random, live: LiveCluster) -> Pod | None:
    pods = live.snapshot().pods
    return rng.choice(pods) if pods else None


def _any_node(rng: random.Random, live: LiveCluster) -> Node | None:
    nodes = live.snapshot().nodes
    return rng.choice(nodes) if nodes else None


def _new_pod(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> Pod:
    known = _any_pod(rng, live)
    if known is None or rng.random() < 0.6:
        known = _social_pod(rng) if rng.random() < 0.6 else rng.choice(rng.choice(sources).pods or (Pod("plain"),))
    pod = replace(known, name=f"pod-{rng.randrange(10**6)}", bound_to="", gpu_devices=None, scheduling_gates=())
    if rng.random() < 0.2:  # as pods of a StatefulSet have
        pod = replace(pod, spec=replace(pod.spec, labels=freeze(dict(pod.spec.labels) | {"pod-name": pod.name})))
    if rng.random() < 0.05:
        wants = ((f"example.com/{rng.choice('ab')}", 10**9),)
        pod = replace(pod, spec=replace(pod.spec, overhead=wants))
    return pod


def _social_pod(rng: random.Random) -> Pod:
    """Make a pod that minds the others: few labels and many terms, so that they meet."""

    def selector() -> Selector:
        return Selector((Requirement("app", *rng.choice([("In", ("x",)), ("In", ("x", "y")), ("Exists", ())])),))

    def term() -> AffinityTerm:
        chosen = rng.choice([None, None, Selector((Requirement("team", "Exists"),))])
        return AffinityTerm(rng.choice(_KEYS), selector(), rng.choice([(), ("prod",)]), chosen)

    wishes = [WeightedAffinityTerm(rng.randrange(1, 100), term()) for _ in range(rng.randrange(3))]
    spec = PodSpec(
        namespace=rng.choice(["default", "prod"]),
        labels=(("app", rng.choice("xyz")),),
        containers=(Container("app", ports=(HostPort(80, ip=rng.choice(_ADDRESSES)),) if rng.random() < 0.3 else ()),),
        affinity=(term(),) if rng.random() < 0.2 else (),
        anti_affinity=(term(),) if rng.random() < 0.3 else (),
        preferred_affinity=tuple(wishes[:1]),
        preferred_anti_affinity=tuple(wishes[1:]),
        spread=tuple(
            SpreadConstraint(rng.randrange(1, 3), rng.choice(_KEYS), rng.random() < 0.6, selector())
            for _ in range(rng.choice([0, 0, 1, 2]))
        ),
    )
    return Pod("social", spec)


def put_waiting(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    live.put_pod(_new_pod(rng, live, sources))


def put_bound(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    node = _any_node(rng, live)
    name = "ghost" if node is None or rng.random() < 0.05 else node.name
    pod = replace(_new_pod(rng, live, sources), bound_to=name)
    if pod.spec.gpu and rng.random() < 0.5:
        pod = replace(pod, gpu_devices=tuple(range(pod.spec.gpu.count)))
    live.put_pod(pod)


def move_pod(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    """Bind, unbind, or say the same again: assume, forget, a status update."""
    pod, node = _any_pod(rng, live), _any_node(rng, live)
    if pod is not None:
        live.put_pod(replace(pod, bound_to=rng.choice(["", pod.bound_to, node.name if node else "ghost"])))


def end_pod(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    pod = _any_pod(rng, live)
    if pod is not None:
        live.put_pod(replace(pod, spec=replace(pod.spec, is_terminating=True)))


def drop_pod(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    pod = _any_pod(rng, live)
    live.drop_pod("nobody/nothing" if pod is None else pod.key)


def put_new_node(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    live.put_node(rng.choice(rng.choice(sources).nodes))


def change_node(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    node = _any_node(rng, live)
    if node is None:
        return
    labels = dict(rng.choice(rng.choice(sources).nodes).labels)
    changes: list[dict[str, object]] = [
        {"labels": freeze(labels)},
        {"taints": (*node.taints[:1], Taint("worn", effect=rng.choice(["NoSchedule", "PreferNoSchedule"])))},
        {"taints": ()},
        {"is_unschedulable": not node.is_unschedulable},
        {"allocatable": tuple((name, amount // 2) for name, amount in node.allocatable)},
        {"images": tuple(Image((f"image-{i}:latest", f"alias-{i}"), 900 * _MB) for i in range(rng.randrange(3)))},
        {"images": rng.choice(rng.choice(sources).nodes).images},
        {"gpu_count": rng.choice([0, 2, 4])},
        {"gpu_model": rng.choice(["T4", "A100"])},
        {"power": NodePower(rng.choice([(50.0, 90.0), (50.0, 60.0, 90.0)]))},
        {"cost_per_hour": rng.random()},
        {"annotations": (("a", str(rng.random())),)},
        {"readings": NodeReadings(latency_ms=rng.random())},
    ]
    live.put_node(replace(node, **rng.choice(changes)))


def drop_node(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    node = _any_node(rng, live)
    live.drop_node("ghost" if node is None else node.name)


def read_nodes(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    def measured() -> NodeReadings:
        zones = (("z1", rng.random() * 9),) if rng.random() < 0.3 else ()
        return NodeReadings(rng.choice([None, 100 * rng.random()]), rng.random(), None, rng.random(), 90.0, zones)

    names = [node.name for node in live.snapshot().nodes] + ["ghost"]
    live.put_readings({name: measured() for name in names if rng.random() < 0.5})


def _put_context(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    for kind in ("namespaces", "services", "controllers", "volumes", "claims"):
        if rng.random() < 0.5:
            words = [word for source in sources for word in getattr(source, kind) if rng.random() < 0.8]
            if kind == "namespaces":
                words = [Namespace(name, rng.choice([(), (("team", "a"),)])) for name in ("default", "prod")]
            live.put_context(**{kind: words})


def rebind_pod(rng: random.Random, live: LiveCluster, sources: list[Snapshot]) -> None:
    """Move a pod that is bound to another node: no class is new, and none begins to wait."""
    bound = [pod for pod in live.snapshot().pods if pod.bound_to]
    node = _any_node(rng, live)
    if bound and node is not None:
        live.put_pod(replace(rng.choice(bound), bound_to=node.name))


Move = Callable[[random.Random, LiveCluster, list[Snapshot]], None]
MOVES: dict[Move, int] = {
    put_waiting: 6,
    put_bound: 6,
    move_pod: 6,
    end_pod: 1,
    drop_pod: 3,
    put_new_node: 1,
    change_node: 3,
    drop_node: 1,
    read_nodes: 1,
    _put_context: 2,
}
"""Each with how often it comes."""

QUIET_MOVES: dict[Move, int] = {rebind_pod: 5, change_node: 2, read_nodes: 2}
"""Those that leave the classes as they are."""
