"""From names to arrays: classes, padding, who is counted and who is left out."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import oracle_cluster, rich_snapshot
from longshore.core.arrays.choose import choose
from longshore.core.words.errors import InputError
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm
from longshore.core.words.snapshot import Controller, Service, Snapshot, TypicalPod
from longshore.filters import feasible
from longshore.policies.heuristics.kube_default import POLICY
from support.builders import GIB, make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode
from support.jax_arrays import assert_same_trees

seeds = st.integers(0, 2**32 - 1)
clusters = seeds.map(rich_snapshot) | seeds.map(random_snapshot)


@given(clusters, st.integers(1, 9))
def test_padding_is_never_feasible_and_changes_no_result(snapshot: Snapshot, extra: int) -> None:
    num_nodes = len(snapshot.nodes)
    plain, padded = encode(snapshot).arrays, encode(snapshot, padded_nodes=num_nodes + extra).arrays
    for pod_class in map(np.asarray, range(len(plain.classes.gpu_milli))):
        mask, padded_mask = feasible(plain, pod_class), feasible(padded, pod_class)
        assert not padded_mask[num_nodes:].any()
        assert padded_mask[:num_nodes].tolist() == mask.tolist()
        scores, padded_scores = POLICY.score(plain, pod_class, mask), POLICY.score(padded, pod_class, padded_mask)
        assert padded_scores[padded_mask].tolist() == scores[mask].tolist()


@settings(max_examples=40)
@given(clusters, st.integers(1, 9))
def test_padding_changes_no_choice(snapshot: Snapshot, extra: int) -> None:
    plain = encode(snapshot, seed=7).arrays
    padded = encode(snapshot, seed=7, padded_nodes=len(snapshot.nodes) + extra).arrays
    for has_random_ties in (False, True):
        picks = []
        for arrays in (plain, padded):
            mask = arrays.nodes.is_real
            picks.append(int(choose(arrays, np.zeros(len(mask)), mask, has_random_ties=has_random_ties)))
        assert picks[0] == picks[1] >= 0


@settings(max_examples=40)
@given(seeds)
def test_order_of_nodes_and_pods_changes_no_result(seed: int) -> None:
    encoded, pod_class = oracle_cluster(seed)
    snapshot, rng = encoded.snapshot, random.Random(seed)
    shuffled = encode(
        replace(
            snapshot,
            nodes=tuple(rng.sample(snapshot.nodes, len(snapshot.nodes))),
            pods=tuple(rng.sample(snapshot.pods, len(snapshot.pods))),
        )
    )
    results = []
    for one, index in ((encoded, pod_class), (shuffled, shuffled.class_index[encoded.specs[pod_class]])):
        mask = feasible(one.arrays, np.asarray(index))
        scores = POLICY.score(one.arrays, np.asarray(index), mask)
        results.append({name: int(scores[row]) for name, row in one.node_index.items() if mask[row]})
    assert results[0] == results[1]


def test_equal_specs_share_a_class() -> None:
    pods = [make_pod(f"p{i}").cpu(100 + 100 * (i % 2)).priority(i) for i in range(10)]
    encoded = encode(make_snapshot(make_node("a"), *(pod.on("a") if i < 5 else pod for i, pod in enumerate(pods))))
    assert len(encoded.specs) == 2
    assert [encoded.class_of(pod) for pod in encoded.snapshot.pods] == [0, 1] * 5
    assert encoded.arrays.classes.request[:, 0].tolist() == [100, 200]
    assert encoded.arrays.state.requested[0, 0] == 3 * 100 + 2 * 200


def test_where_a_pod_runs_is_no_part_of_its_class() -> None:
    encoded = encode(
        make_snapshot(make_node("a"), make_node("b"), make_pod("p").on("a"), make_pod("q").on("b"), make_pod("r"))
    )
    assert len(encoded.specs) == 1


def test_names_belong_to_indices() -> None:
    encoded = encode(make_snapshot(make_node("b"), make_node("a"), make_pod("p")), padded_nodes=4)
    assert encoded.node_names == ("b", "a")
    assert encoded.node_index == {"b": 0, "a": 1}


def test_bound_pods_are_counted_on_their_nodes() -> None:
    pods = [make_pod("p").cpu(500).memory(GIB).on("b"), make_pod("q").on("b"), make_pod("r").cpu(1).on("a")]
    state = encode(make_snapshot(make_node("a"), make_node("b"), *pods)).arrays.state
    assert state.requested.tolist() == [[1, 0, 0], [500, GIB, 0]]
    assert state.nonzero_requested.tolist() == [[1, 200 * 2**20], [600, GIB + 200 * 2**20]]
    assert state.pod_count.tolist() == [1, 2]
    assert (int(state.last_node), int(state.step), int(state.next_class)) == (-1, 0, -1)


def test_pods_on_unknown_nodes_are_left_out() -> None:
    here = make_snapshot(make_node("a"), make_pod("p").cpu(100))
    gone = make_pod("q").cpu(9).resource("example.com/x", 1).label("app", "q").on("gone").build()
    with_gone = encode(replace(here, pods=(gone, *here.pods)))
    assert len(with_gone.specs) == 1
    assert_same_trees(with_gone.arrays, encode(here).arrays)


def test_resources_that_nobody_asks_for_have_no_column() -> None:
    node = make_node("a").resource("example.com/x", 3).resource("example.com/y", 3)
    encoded = encode(make_snapshot(node, make_pod("p").resource("example.com/y", 1)))
    assert encoded.resource_names == ("cpu", "memory", "ephemeral-storage", "example.com/y")
    assert encoded.arrays.nodes.allocatable[0].tolist() == [4000, 16 * GIB, 0, 3]


def test_an_empty_snapshot_is_one_row_of_padding() -> None:
    encoded = encode(Snapshot())
    assert not encoded.specs
    assert encoded.arrays.nodes.is_real.tolist() == [False]
    assert encoded.arrays.classes.request.shape == (0, 3)


def test_a_cluster_without_pods_is_allowed() -> None:
    arrays = encode(make_snapshot(make_node("a"), make_node("b"))).arrays
    assert arrays.nodes.is_real.tolist() == [True, True]
    assert arrays.tables.match.shape == (1, 0)
    assert not arrays.state.counts.any()


def test_pods_without_nodes_are_feasible_nowhere() -> None:
    arrays = encode(make_snapshot(make_pod("p").cpu(1))).arrays
    mask = feasible(arrays, np.asarray(0))
    assert not mask.any()
    assert choose(arrays, POLICY.score(arrays, np.asarray(0), mask), mask) == -1


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_seed_is_kept_and_changes_nothing_else(seed: int) -> None:
    snapshot = random_snapshot(1)
    arrays = encode(snapshot, seed=seed).arrays
    assert int(arrays.state.seed) == seed
    assert arrays.state.seed.dtype == np.uint32
    other = encode(snapshot).arrays
    assert_same_trees(arrays._replace(state=arrays.state._replace(seed=other.state.seed)), other)


@given(seeds)
@settings(max_examples=20)
def test_encoding_twice_gives_the_same_arrays(seed: int) -> None:
    assert_same_trees(encode(rich_snapshot(seed)).arrays, encode(rich_snapshot(seed)).arrays)


def test_encoding_shares_no_state_between_results() -> None:
    snapshot = make_snapshot(make_node("a"), make_pod("p").cpu(1).on("a"))
    one, other = encode(snapshot).arrays, encode(snapshot).arrays
    one.state.requested[:] = 99
    assert other.state.requested[0, 0] == 1


def test_bound_gpu_pods_hold_the_devices_that_they_name() -> None:
    node = make_node("a").gpu(3)
    pods = [make_pod("p").gpu(1, 300).on("a", (2,)), make_pod("q").gpu(2).on("a", (0, 1))]
    assert encode(make_snapshot(node, *pods)).arrays.state.gpu_used.tolist() == [[1000, 1000, 300]]


def test_bound_gpu_pods_without_devices_get_those_that_fit_best() -> None:
    node = make_node("a").gpu(3)
    pods = [make_pod("p").gpu(1, 600).on("a", (1,)), make_pod("q").gpu(1, 400).on("a"), make_pod("r").gpu(1).on("a")]
    assert encode(make_snapshot(node, *pods)).arrays.state.gpu_used.tolist() == [[1000, 1000, 0]]


def test_named_devices_are_booked_before_any_are_guessed() -> None:
    guessed, named = make_pod("p").gpu(1).on("a"), make_pod("q").gpu(1).on("a", (0,))
    for pods in ((guessed, named), (named, guessed)):
        assert encode(make_snapshot(make_node("a").gpu(2), *pods)).arrays.state.gpu_used.tolist() == [[1000, 1000]]


@pytest.mark.parametrize(
    ("named", "want"),
    [
        pytest.param((1, 7), [1000, 1000, 0, 0], id="a device that no node has"),
        pytest.param((1, 3), [1000, 1000, 0, 0], id="a device that only another node has"),
        pytest.param((1,), [1000, 1000, 0, 0], id="fewer than it asks for"),
        pytest.param((0, 1, 2), [1000, 1000, 0, 0], id="more than it asks for"),
        pytest.param((2, 2), [1000, 1000, 0, 0], id="one device twice"),
        pytest.param((), [1000, 1000, 0, 0], id="none"),
        pytest.param((1, 2), [0, 1000, 1000, 0], id="as it asks for"),
    ],
)
def test_named_devices_that_cannot_be_are_guessed_and_never_forgotten(named: tuple[int, ...], want: list[int]) -> None:
    snapshot = make_snapshot(make_node("a").gpu(3), make_node("b").gpu(4), make_pod("p").gpu(2).on("a", named))
    assert encode(snapshot).arrays.state.gpu_used[0].tolist() == want


def test_a_device_is_not_given_away_twice() -> None:
    pods = [make_pod("p").gpu(1, 700).on("a", (1,)), make_pod("q").gpu(1, 700).on("a", (1,))]
    assert encode(make_snapshot(make_node("a").gpu(2), *pods)).arrays.state.gpu_used.tolist() == [[700, 700]]


def test_a_node_that_cannot_hold_its_pods_is_full() -> None:
    pods = [make_pod("p").gpu(1).on("a", (0,)), make_pod("q").gpu(2).on("a", (0, 1)), make_pod("r").gpu(1).on("b")]
    state = encode(make_snapshot(make_node("a").gpu(2), make_node("b"), *pods)).arrays.state
    assert state.gpu_used.tolist() == [[1000, 1000], [0, 0]]


@pytest.mark.parametrize("padded_nodes", [-1, 0, 1])
def test_fewer_rows_than_nodes_are_refused(padded_nodes: int) -> None:
    with pytest.raises(InputError, match=f"got {padded_nodes} padded rows for 2 nodes, expected at least 2"):
        encode(make_snapshot(make_node("a"), make_node("b")), padded_nodes=padded_nodes)


def test_more_devices_than_can_be_counted_exactly_are_refused() -> None:
    with pytest.raises(InputError, match="node `a`: got 65 GPU devices, expected at most 64"):
        encode(make_snapshot(make_node("a").gpu(65)))


def test_typical_pods_are_those_of_the_snapshot_unless_given() -> None:
    parts = (make_node("a").gpu(1, "T4"), make_node("b").gpu(1, "P100"), make_pod("p").cpu(5).gpu(1, 300, ("T4",)))
    own = encode(make_snapshot(*parts)).arrays.tables
    assert (own.typical_cpu_millis.tolist(), own.typical_gpu_milli.tolist()) == ([5], [300])
    assert (own.typical_share.tolist(), own.typical_rest.tolist()) == ([[1.0, 0.0]], [0.0, 1.0])
    assert own.typical_pressure.tolist() == [2.0, 0.0]
    given = encode(make_snapshot(*parts, typical_pods=(TypicalPod(7, None, 1.0),))).arrays.tables
    # What wants no GPU is no kind of its own: it finds all that is idle useless, wherever it is.
    assert (given.typical_cpu_millis.tolist(), given.typical_rest.tolist()) == ([], [1.0, 1.0])


def test_log_table_reaches_beyond_the_padded_nodes() -> None:
    arrays = encode(make_snapshot(make_node("a")), padded_nodes=6).arrays
    assert arrays.tables.log_size.shape == (9,)


def test_neutral_rows_come_first_in_every_table() -> None:
    arrays = encode(rich_snapshot(2), padded_nodes=20).arrays
    num_nodes = int(arrays.nodes.is_real.sum())
    assert arrays.tables.masks[0, :num_nodes].all()
    assert not arrays.tables.weights[0].any()
    assert not arrays.tables.match[0].any()
    assert not arrays.state.counts[0].any()


def test_counters_hold_what_every_bound_pod_adds() -> None:
    for seed in range(20):
        encoded = encode(rich_snapshot(seed))
        want = np.zeros_like(encoded.arrays.state.counts)
        for pod in encoded.snapshot.pods:
            if pod.bound_to in encoded.node_index:
                want[:, encoded.node_index[pod.bound_to]] += encoded.arrays.tables.match[:, encoded.class_of(pod)]
        np.testing.assert_array_equal(encoded.arrays.state.counts, want)


def apps(count: int) -> Snapshot:
    """Every pod an app of its own, with a service, a controller, a host port and a rule to stay away from itself."""
    pods, services, controllers = [], [], []
    for i in range(count):
        pair = ("app", f"a{i}")
        own = Selector((Requirement("app", "In", (f"a{i}",)),))
        pod = make_pod(f"p{i}").label(*pair).owner("ReplicaSet", f"r{i}").host_port(1000 + i)
        pods.append(pod.spec(anti_affinity=(AffinityTerm("zone", own),)).on("n").build())
        services.append(Service("default", f"s{i}", (pair,)))
        controllers.append(Controller("apps/v1", "ReplicaSet", "default", f"r{i}", own))
    return Snapshot((make_node("n").build(),), tuple(pods), (), tuple(services), tuple(controllers))


def test_a_selector_is_asked_only_about_classes_that_it_could_match(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [0]
    matches = Selector.matches

    def counting(self: Selector, labels: dict[str, str]) -> bool:
        asked[0] += 1
        return matches(self, labels)

    monkeypatch.setattr(Selector, "matches", counting)
    per_app = []
    for count in (20, 200):
        asked[0] = 0
        encode(apps(count))
        per_app.append(asked[0] / count)
    assert per_app[0] == per_app[1] <= 10
