"""Kept scores are those of kube-default, whatever happened since, and are kept only where that can be."""

import random
from dataclasses import replace

import numpy as np
import pytest

from deciding.plain import decide_plainly
from longshore import filters
from longshore.core.arrays.encode import encode
from longshore.core.arrays.live import LiveCluster
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, Pod
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.deciding.kept_scores import make
from longshore.policies import REGISTRY
from longshore.policies.heuristics import kube_default
from support.builders import make_node, make_pod, make_snapshot

KUBE_DEFAULT = REGISTRY.load("kube-default")
NAMED = find_policy("kube-default")


def narrow(encoded, pod: Pod):
    pod_class = encoded.class_of(pod)
    arrays = encoded.arrays
    return arrays._replace(classes=Decider(NAMED)._narrow(arrays.classes, pod_class)), pod_class


def kept(encoded, pod: Pod, policy=KUBE_DEFAULT, names=filters.UPSTREAM):
    return make(policy, *narrow(encoded, pod), names)


def three_nodes(*pods):
    return encode(make_snapshot(make_node("a").cpu(8), make_node("b").cpu(4), make_node("c").cpu(8), *pods))


def test_kept_scores_are_those_of_kube_default():
    encoded = three_nodes(make_pod("p").cpu(2), make_pod("q").cpu(5).on("a"))
    pod = encoded.snapshot.pending[0]
    arrays, pod_class = narrow(encoded, pod)
    found = kept(encoded, pod)
    mask = filters.feasible(arrays, np.asarray(pod_class))
    np.testing.assert_array_equal(found.mask, mask)
    np.testing.assert_array_equal(found.scores, kube_default.score(arrays, np.asarray(pod_class), mask))


@pytest.mark.parametrize("num_changed", [1, 3])
def test_update_takes_what_pods_changed(num_changed: int):
    encoded = three_nodes(make_pod("p").cpu(2))
    pod = encoded.snapshot.pending[0]
    found = kept(encoded, pod)
    arrays, pod_class = narrow(encoded, pod)
    state = arrays.state
    for row in range(num_changed):
        state.requested[row, 0] += 3000
        state.nonzero_requested[row, 0] += 3000
        state.pod_count[row] += 1
    found.update(arrays)
    mask = filters.feasible(arrays, np.asarray(pod_class))
    np.testing.assert_array_equal(found.mask, mask)
    np.testing.assert_array_equal(found.scores, kube_default.score(arrays, np.asarray(pod_class), mask))


def test_a_node_without_room_and_one_that_has_it_again_are_seen():
    encoded = three_nodes(make_pod("p").cpu(2))
    pod = encoded.snapshot.pending[0]
    found = kept(encoded, pod)
    arrays, _ = narrow(encoded, pod)
    arrays.state.requested[1, 0] += 3000
    found.update(arrays)
    assert found.mask[:3].tolist() == [True, False, True]
    arrays.state.requested[1, 0] -= 3000
    found.update(arrays)
    assert found.mask[:3].tolist() == [True, True, True]


def test_nothing_is_kept_of_another_policy():
    encoded = three_nodes(make_pod("p").cpu(2))
    assert kept(encoded, encoded.snapshot.pending[0], REGISTRY.load("first-fit")) is None


def test_nothing_is_kept_with_filters_that_are_not_ours():
    encoded = three_nodes(make_pod("p").cpu(2))
    assert kept(encoded, encoded.snapshot.pending[0], names=(*filters.UPSTREAM, "TheirFilter")) is None


def test_nothing_is_kept_where_taints_weigh():
    encoded = encode(
        make_snapshot(make_node("a").taint("x", effect="PreferNoSchedule"), make_node("b"), make_pod("p").cpu(2))
    )
    assert kept(encoded, encoded.snapshot.pending[0]) is None


def test_nothing_is_kept_where_other_pods_concern_the_pod():
    apart = (AffinityTerm("kubernetes.io/hostname", Selector((Requirement("app", "In", ("web",)),))),)
    lonely = replace(make_pod("lonely").build().spec, anti_affinity=apart)
    web = make_pod("web").label("app", "web")
    pods = [replace(make_pod("lonely"), pod=Pod("lonely", lonely)), web, make_pod("plain")]
    encoded = three_nodes(*pods)
    kept_of = {pod.name: kept(encoded, pod) is not None for pod in encoded.snapshot.pending}
    # The lonely pod would keep web pods away once it is placed, so they look at others too.
    assert kept_of == {"lonely": False, "web": False, "plain": True}


def test_decisions_in_a_cluster_that_changes_are_those_of_a_fresh_look():
    rng = random.Random(3)
    live, decider = LiveCluster(seed=5), Decider(NAMED)
    nodes = [make_node(f"n{number}").cpu(rng.choice([4, 8])).build() for number in range(9)]
    for node in nodes:
        live.put_node(node)
    placed: list[Pod] = []
    for number in range(200):
        pod = make_pod(f"p{number}").cpu(rng.choice([1, 2])).build()
        encoded = live.encoded([pod])
        found = decider.decide(encoded, pod)
        assert found.node == decide_plainly(encoded, pod, NAMED)[0].node
        if found.node is not None:
            placed.append(replace(pod, bound_to=found.node))
            live.put_pod(placed[-1])
        if placed and (found.node is None or rng.random() < 0.4):
            live.drop_pod(placed.pop(rng.randrange(len(placed))).key)
        if rng.random() < 0.1:
            live.put_node(replace(rng.choice(nodes), is_unschedulable=rng.random() < 0.5))
