"""Kept scores are those of a fresh look, whatever happened since, for every policy that says what it looks at."""

import random
from dataclasses import replace

import numpy as np
import pytest

from deciding.plain import decide_plainly
from longshore import filters as room
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.live import LiveCluster
from longshore.core.arrays.ops import Array
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.node import NodeReadings
from longshore.core.words.pod import (
    AffinityTerm,
    NodePreference,
    NodeSelectorTerm,
    Pod,
    SpreadConstraint,
    WeightedAffinityTerm,
)
from longshore.deciding import decider as decider_module
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.deciding.kept_scores import can_keep
from longshore.filters import static_parts
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from support.builders import make_node, make_pod

LOCAL = tuple(name for name in REGISTRY.names() if REGISTRY.load(name).is_local)
KEPT = ("kube-default", *LOCAL)
ZONE = "topology.kubernetes.io/zone"


def only(label: str, value: str) -> Selector:
    return Selector((Requirement(label, "In", (value,)),))


APART = (AffinityTerm("kubernetes.io/hostname", only("app", "web")),)
NEAR = (WeightedAffinityTerm(30, AffinityTerm(ZONE, only("app", "web"))),)
SPREAD = (SpreadConstraint(1, ZONE, False, only("app", "web")),)
DISKS = (
    NodePreference(7, NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))),
    NodePreference(3, NodeSelectorTerm((Requirement("disk", "In", ("hdd",)),))),
)
PODS = {
    "plain": make_pod("plain").cpu(1),
    "keeps away": make_pod("lonely").cpu(1).spec(anti_affinity=APART),
    "is kept away": make_pod("web").cpu(1).label("app", "web"),
    "near": make_pod("near").cpu(1).spec(preferred_affinity=NEAR),
    "spread": make_pod("spread").cpu(1).label("app", "web").spec(spread=SPREAD),
    "hard spread": make_pod("even").cpu(1).label("app", "web").spec(spread=(SPREAD[0]._replace(is_hard=True),)),
    "wishes": make_pod("wishes").cpu(1).spec(node_preferences=DISKS),
    "port": make_pod("port").host_port(80),
    "gpu": make_pod("gpu").cpu(1).gpu(1, 300),
    "limit": make_pod("limit").latency(10.0, 20.0),
}


def cluster(rng: random.Random) -> LiveCluster:
    live = LiveCluster(static_parts(), seed=5)
    for number in range(9):
        node = make_node(f"n{number}").cpu(rng.choice([2, 4])).label(ZONE, rng.choice("abc")).gpu(number % 3, "T4")
        node = node.label("kubernetes.io/hostname", f"n{number}").readings(latency_ms=rng.choice([5.0, 15.0, 25.0]))
        node = node.label("disk", rng.choice(["ssd", "hdd"])).power(50.0 + number, 200.0)
        for taint in ("wear", "noise")[: number % 3]:
            node = node.taint(taint, effect="PreferNoSchedule")
        live.put_node(node.build())
    return live


@pytest.mark.parametrize("filters", ["upstream", "upstream+latency"])
@pytest.mark.parametrize("name", KEPT)
def test_kept_scores_are_those_of_a_fresh_look_whatever_happens(name: str, filters: str):
    rng = random.Random(f"{name} {filters}")
    live, policy = cluster(rng), find_policy(name, filters)
    decider, placed = Decider(policy), list[Pod]()
    for number in range(160):
        kind = rng.choice(list(PODS.values()))
        pod = replace(kind.build(), name=f"p{number}")
        encoded = live.encoded([pod])
        allowed = np.array([rng.random() < 0.7 for _ in encoded.node_names]) if rng.random() < 0.2 else None
        found = decider.decide(encoded, pod, allowed=allowed)
        if allowed is None:
            assert found.node == decide_plainly(encoded, pod, policy)[0].node
        scores = fresh_scores(encoded, pod, policy, allowed)
        assert dict(found.candidates).items() <= scores.items()
        assert found.num_feasible == len(scores)
        if found.node is not None:
            placed.append(replace(pod, bound_to=found.node, gpu_devices=found.devices))
            live.put_pod(placed[-1])
        if placed and (found.node is None or rng.random() < 0.4):
            live.drop_pod(placed.pop(rng.randrange(len(placed))).key)
        if rng.random() < 0.05:
            node = rng.choice(list(live.nodes.values()))
            live.put_node(replace(node, is_unschedulable=not node.is_unschedulable))
        if rng.random() < 0.05:
            live.put_readings({rng.choice(list(live.nodes)): NodeReadings(latency_ms=rng.choice([5.0, 25.0]))})


def fresh_scores(encoded: Encoded, pod: Pod, policy: Policy, allowed: Array | None) -> dict[str, float]:
    pod_class = np.asarray(encoded.class_of(pod))
    mask = room.feasible(encoded.arrays, pod_class, room.filter_set(policy.filters))
    mask = mask if allowed is None else mask & allowed
    scores = policy.score(encoded.arrays, pod_class, mask)
    return {encoded.node_names[row]: float(scores[row]) for row in np.flatnonzero(mask)}


def test_only_nodes_that_changed_are_scored_again(monkeypatch: pytest.MonkeyPatch):
    rng, rows = random.Random(1), list[int]()
    live, policy = cluster(rng), find_policy("best-fit")

    def counted(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        rows.append(len(feasible))
        return policy.score(arrays, pod_class, feasible)

    decider = Decider(replace(policy, score=counted))
    for number in range(5):
        pod = make_pod(f"p{number}").cpu(1).build()
        found = decider.decide(live.encoded([pod]), pod)
        live.put_pod(replace(pod, bound_to=found.node))
    assert rows == [9, 1, 1, 1, 1]


def test_a_policy_that_does_not_say_what_it_looks_at_is_asked_every_time():
    assert not can_keep(REGISTRY.load("round-robin"))
    assert not can_keep(replace(REGISTRY.load("best-fit"), is_local=False))
    assert can_keep(REGISTRY.load("kube-default"))


def test_classes_that_are_not_asked_for_make_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decider_module, "_MOST_KEPT_BYTES", 1)
    live = cluster(random.Random(2))
    decider = Decider(find_policy("best-fit"))
    pods = [make_pod(f"p{number}").cpu(number + 1).build() for number in range(3)]
    for pod in pods * 2:
        encoded = live.encoded(pods)
        assert decider.decide(encoded, pod).node == decide_plainly(encoded, pod, find_policy("best-fit"))[0].node
    assert len(decider._kept._values) == 1
