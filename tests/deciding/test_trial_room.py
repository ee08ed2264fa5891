"""The trial room: what is taken and put is exactly that, and what is restored is as before."""

import numpy as np

from longshore import filters
from longshore.core.arrays.encode import Encoded
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, SpreadConstraint
from longshore.core.words.snapshot import Snapshot
from longshore.deciding.trial_room import Move, TrialRoom, fits_beside, is_node_local, reject_beside
from support.builders import make_node, make_pod, random_snapshot
from support.compiling import encode

APP = Selector((Requirement("app", "In", ("x",)),))


def cluster(*pods: object) -> Encoded:
    nodes = tuple(make_node(name).cpu("4").label("zone", name).build() for name in "ab")
    return encode(Snapshot(nodes=nodes, pods=tuple(pods)))  # type: ignore[arg-type]


def test_taking_all_pods_leaves_an_empty_cluster():
    snapshot = random_snapshot(3)
    encoded = encode(snapshot)
    room = TrialRoom(encoded, 0)
    bound = [pod for pod in snapshot.pods if pod.bound_to and pod.spec.gpu is None]
    moves = [Move(encoded.node_index[pod.bound_to], pod) for pod in bound]
    room.take(moves)
    rest = encode(Snapshot(nodes=snapshot.nodes, pods=tuple(pod for pod in snapshot.pods if pod not in bound)))
    assert room.arrays.state.requested.tolist() == rest.arrays.state.requested.tolist()
    assert room.arrays.state.pod_count.tolist() == rest.arrays.state.pod_count.tolist()
    room.put(moves)
    before = TrialRoom(encoded, 0)
    for have, want in zip(room.arrays.state, before.arrays.state, strict=True):
        assert np.array_equal(have, want)


def test_restoring_a_node_undoes_what_was_done_to_it_alone():
    pods = [make_pod(f"p{node}").cpu("1").label("app", "x").on(node).build() for node in "ab"]
    encoded = cluster(*pods)
    room = TrialRoom(encoded, encoded.class_of(pods[0]))
    room.take([Move(0, pods[0]), Move(1, pods[1])])
    room.restore([0])
    assert room.arrays.state.pod_count.tolist() == [1, 0]
    assert encoded.arrays.state.pod_count.tolist() == [1, 1]


def test_a_class_with_terms_about_other_nodes_is_not_local():
    plain = make_pod("plain").build()
    spread = make_pod("spread").spec(spread=(SpreadConstraint(1, "zone", True, APP),)).build()
    away = make_pod("away").spec(anti_affinity=(AffinityTerm("zone", APP),)).build()
    repelled = make_pod("repelled").label("app", "x").build()
    encoded = cluster(plain, spread, away, repelled)
    local = [is_node_local(encoded, encoded.class_of(pod), filters.UPSTREAM) for pod in (plain, spread, away, repelled)]
    assert local == [True, False, False, False]


def test_kept_room_counts_on_its_node_only():
    pod, kept = make_pod("p").cpu("3").build(), make_pod("kept").cpu("2").build()
    encoded = cluster(pod, kept)
    assert fits_beside(encoded, pod, [Move(0, kept)], filters.UPSTREAM).tolist() == [False, True]
    rejections = reject_beside(encoded, pod, [Move(0, kept)], filters.UPSTREAM)
    assert {name: rejection.reasons for name, rejection in rejections.items()} == {"a": ("Insufficient cpu",)}


def test_a_pod_that_needs_the_nominated_one_beside_it_has_to_wait_for_it():
    friend = AffinityTerm("zone", APP)
    pod = make_pod("p").spec(affinity=(friend,)).build()
    kept = make_pod("kept").label("app", "x").build()
    encoded = cluster(pod, kept)
    assert fits_beside(encoded, pod, [Move(0, kept)], filters.UPSTREAM).tolist() == [False, False]


def test_a_pod_that_dislikes_the_nominated_one_stays_away_from_its_node():
    pod = make_pod("p").spec(anti_affinity=(AffinityTerm("zone", APP),)).build()
    kept = make_pod("kept").label("app", "x").build()
    encoded = cluster(pod, kept)
    assert fits_beside(encoded, pod, [Move(1, kept)], filters.UPSTREAM).tolist() == [True, False]
