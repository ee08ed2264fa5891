"""A network's inputs: the place by a heuristic chooses as it does, the graph is the cluster's, both libraries agree."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore import filters
from longshore.core.arrays.choose import choose
from longshore.core.arrays.features import features
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.network.bundle import LOAD_SCALE, LoadScale
from longshore.core.network.forward import POD_KINDS, Inputs, Op
from longshore.core.words.snapshot import Service
from longshore.policies import REGISTRY
from longshore.policies.inputs import Reads, load, places, pod_kind, policy_inputs, with_rows
from support import jax_arrays
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.uniform import device_clusters, oracle_clusters

FEATURES = ("after_cpu_used", "latency", "is_feasible")
SERVICE = Service("default", "web", (("app", "web"),))
NO_PREFERENCE = np.zeros(0, np.float32)
scores_and_masks = st.lists(
    st.tuples(st.sampled_from([0.0, 1e-7, 5e-7, 1e-6, 1.0, 1.0 + 1e-7, -3.0, np.inf, -np.inf, np.nan]), st.booleans()),
    min_size=1,
    max_size=30,
)


def greedy_places(scores: list[float], feasible: list[bool]) -> list[float]:
    """Say it slowly: sort, and begin a new place with every score that does not tie with the place's best."""
    worth = [-np.inf if np.isnan(score) else score for score in scores]
    order = sorted((node for node in range(len(worth)) if feasible[node]), key=lambda node: -worth[node])
    found, place, best = [-8.0] * len(scores), -1, None
    for node in order:
        if best is None or not worth[node] >= best - 1e-6:
            place, best = place + 1, worth[node]
        found[node] = -float(min(place, 8))
    return found


@given(scores_and_masks)
def test_places_are_those_of_a_sorted_list(pairs: list[tuple[float, bool]]):
    scores, feasible = [score for score, _ in pairs], [is_feasible for _, is_feasible in pairs]
    assert places(np.array(scores), np.array(feasible)).tolist() == greedy_places(scores, feasible)


def test_places_end_at_the_last_one():
    found = places(np.arange(12.0), np.arange(12) != 11)
    assert found.tolist() == [-8, -8, -8, -7, -6, -5, -4, -3, -2, -1, 0, -8]
    assert found.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_places_are_equal_in_numpy_and_jax(dtype: Any):
    compiled = jax.jit(jax.vmap(places))
    draw = np.random.default_rng(0)
    scores = draw.integers(0, 12, (50, 13)).astype(dtype)
    feasible = draw.random((50, 13)) < 0.7
    want = np.stack([places(s, f) for s, f in zip(scores, feasible, strict=True)])
    np.testing.assert_array_equal(compiled(jax_arrays.to_jax(scores), jax_arrays.to_jax(feasible)), want)


@pytest.mark.parametrize("name", list(REGISTRY.table))
def test_the_place_alone_chooses_as_the_heuristic(name: str):
    heuristic = REGISTRY.load(name)
    for cluster in oracle_clusters(32) + device_clusters(32):
        arrays, pod_class = cluster.encoded.arrays, np.asarray(cluster.pod_class)
        feasible = filters.feasible(arrays, pod_class)
        inputs = policy_inputs(arrays, pod_class, feasible, FEATURES, heuristic, NO_PREFERENCE)

        def chosen(scores: Array, arrays: Any = arrays, feasible: Array = feasible) -> int:
            return int(choose(arrays, scores, feasible, has_random_ties=heuristic.has_random_ties))

        assert chosen(inputs.prior[:, 0]) == chosen(heuristic.score(arrays, pod_class, feasible))


@pytest.mark.parametrize("prior", [None, "kube-default", "energy-latency"])
def test_inputs_are_equal_in_numpy_and_jax(prior: str | None):
    heuristic = None if prior is None else REGISTRY.load(prior)
    preference = np.array([0.25, 0.75], np.float32)

    @jax.jit
    def compiled(arrays: Any, pod_class: Array) -> Inputs:
        feasible = filters.feasible(arrays, pod_class)
        return policy_inputs(arrays, pod_class, feasible, FEATURES, heuristic, preference)

    for cluster in device_clusters(16):
        arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
        want = policy_inputs(arrays, pod_class, filters.feasible(arrays, pod_class), FEATURES, heuristic, preference)
        found = compiled(jax_arrays.to_jax(arrays), pod_class)
        np.testing.assert_allclose(found.rows, want.rows, atol=1e-6)
        jax_arrays.assert_same_trees(found._replace(rows=0), want._replace(rows=0))


@pytest.mark.parametrize(("kind", "value"), [("app", True), ("pod_kind", True), ("load", LOAD_SCALE)])
def test_only_what_is_read_is_computed(kind: str, value: object):
    cluster = device_clusters(1)[0]
    arrays, pod_class = cluster.encoded.arrays, np.asarray(cluster.pod_class)
    rows = np.zeros((len(arrays.nodes.is_real), 1), np.float32)
    reads = Reads(app=False, pod_kind=False, load=None)._replace(**{kind: value})
    found = with_rows(rows, arrays, pod_class, arrays.nodes.is_real, None, NO_PREFERENCE, reads)
    assert [name for name in ("app", "pod_kind", "load") if getattr(found, name).size] == [kind]


def test_what_operations_read_is_found():
    app, kind = Op("mean_app", ("rows",), "x"), Op("mixed", ("rows", "pod_kind"), "score", ("w", "b"))
    both = Op("outer", ("pod_kind", "load"), "mix")
    assert Reads.of((app,), LOAD_SCALE) == Reads(app=True, pod_kind=False, load=None)
    assert Reads.of((kind,), LOAD_SCALE) == Reads(app=False, pod_kind=True, load=None)
    assert Reads.of((both,), LOAD_SCALE) == Reads(app=False, pod_kind=True, load=LOAD_SCALE)


def test_rows_are_the_features_asked_for():
    cluster = device_clusters(1)[0]
    arrays, pod_class = cluster.encoded.arrays, np.asarray(cluster.pod_class)
    feasible = filters.feasible(arrays, pod_class)
    found = policy_inputs(arrays, pod_class, feasible, FEATURES, None, NO_PREFERENCE)
    np.testing.assert_array_equal(found.rows, features(arrays, pod_class, feasible, FEATURES))
    assert found.prior.shape == (len(feasible), 0)
    assert found.preference.shape == (0,)


@settings(max_examples=10)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=6))
def test_pods_of_the_same_service_are_counted_where_they_run(targets: list[int]):
    owned = [make_pod(f"web-{number}").label("app", "web") for number in range(len(targets))]
    other = make_pod("lonely")
    nodes = [make_node(name) for name in "abc"]
    encoded = encode(make_snapshot(*nodes, *owned, other, services=(SERVICE,)))
    arrays = encoded.arrays
    pods = {pod.name: np.asarray(encoded.class_of(pod)) for pod in encoded.snapshot.pods}
    for number, node in enumerate(targets):
        pod_class = pods[f"web-{number}"]
        arrays = place(arrays, pod_class, np.asarray(node), np.zeros(arrays.nodes.gpu_capacity.shape[1], np.int64))
    feasible = filters.feasible(arrays, pods["web-0"])
    found = policy_inputs(arrays, pods["web-0"], feasible, FEATURES, None, NO_PREFERENCE)
    assert found.app[:3].tolist() == [float(targets.count(node)) for node in range(3)]
    assert found.app.dtype == np.float32
    assert not policy_inputs(arrays, pods["lonely"], feasible, FEATURES, None, NO_PREFERENCE).app.any()


def test_the_near_are_those_of_the_readings():
    zones = {"a": "x", "b": "y", "c": "y"}
    nodes = [make_node(name).label(ZONE_KEY, zone) for name, zone in zones.items()]
    nodes[0] = nodes[0].readings(zone_latency_ms=(("y", 5.0),))
    arrays = encode(make_snapshot(*nodes, make_pod("p"))).arrays
    found = policy_inputs(arrays, np.asarray(0), arrays.nodes.is_real, FEATURES, None, NO_PREFERENCE)
    assert found.near[0, found.zone[1]] == 0.5
    assert found.near.sum() == 0.5


def test_without_any_spread_term_nothing_is_counted():
    encoded = encode(make_snapshot(make_node("a"), make_pod("lonely")))
    assert encoded.arrays.classes.soft_spread.query.shape[1] == 0
    feasible = encoded.arrays.nodes.is_real
    found = policy_inputs(encoded.arrays, np.asarray(0), feasible, FEATURES, None, NO_PREFERENCE)
    assert not found.app.any()


@pytest.mark.parametrize(
    ("nodes", "want"), [([], 0.0), ([(2, 0)], 0.0), ([(2, 500), (4, 0)], 1 / 12), ([(1, 1000)], 1.0), ([(0, 0)], 0.0)]
)
def test_the_load_is_the_share_of_all_gpus_that_is_in_use(nodes: list[tuple[int, int]], want: float):
    pods = [make_pod(f"p{place}").gpu(1, used).on(f"n{place}") for place, (_, used) in enumerate(nodes) if used]
    some = [make_node(f"n{place}").gpu(count, "T4") for place, (count, _) in enumerate(nodes)]
    arrays = encode(make_snapshot(*some, make_node("plain"), *pods, make_pod("next").gpu(1, 100))).arrays
    found = load(arrays, LOAD_SCALE)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [1 - want, want, 0], atol=1e-7)


@pytest.mark.parametrize(
    ("gpu_milli", "cpu", "want"),
    [
        pytest.param(0, 0, 0.0, id="empty"),
        pytest.param(0, 20, 0.0, id="CPU alone is used"),
        pytest.param(50, 20, 0.5, id="hardly a GPU is used"),
        pytest.param(500, 45, 0.0, id="CPU to spare"),
        pytest.param(500, 50, (0.524 / 0.53 - 0.9) / 0.15, id="both are used up together"),
        pytest.param(500, 70, 1.0, id="CPU is used up first"),
    ],
)
def test_cpu_is_scarce_where_about_as_much_of_it_is_used_as_of_the_gpus(gpu_milli: int, cpu: int, want: float):
    pods = [make_pod("cpu").cpu(cpu).on("n")] if cpu else []
    pods += [make_pod("gpu").gpu(1, gpu_milli).on("n")] if gpu_milli else []
    plain = [make_node("plain").cpu(50), make_pod("elsewhere").cpu(40).on("plain")]  # without GPUs it does not count
    own = make_node("n").cpu(100).gpu(1, "T4")
    arrays = encode(make_snapshot(own, *plain, *pods, make_pod("next").gpu(1, 100))).arrays
    np.testing.assert_allclose(load(arrays, LOAD_SCALE)[2], want, atol=1e-6)


def test_the_load_is_measured_by_the_scale_that_is_given():
    pods = [make_pod("cpu").cpu(30).on("n"), make_pod("gpu").gpu(1, 500).on("n")]
    arrays = encode(make_snapshot(make_node("n").cpu(100).gpu(1, "T4"), *pods, make_pod("next").gpu(1, 100))).arrays
    scale = LoadScale(cpu_beforehand=0.1, gpus_beforehand=0.3, scarce_from=0.25, scarce_over=0.5, little_below=0.625)
    np.testing.assert_allclose(load(arrays, scale), [0.5, 0.5, (0.4 / 0.8 - 0.25) / 0.5 * 0.8], atol=1e-6)


def test_gpus_and_cpu_of_nodes_that_are_not_there_do_not_count():
    nodes = [make_node(name).gpu(2, "T4").cpu(cpu) for name, cpu in (("a", 20), ("b", 40))]
    arrays = encode(make_snapshot(*nodes, make_pod("p").gpu(1).cpu(10).on("a"))).arrays
    is_real = arrays.nodes.is_real.copy()
    is_real[1] = False
    without = arrays._replace(nodes=arrays.nodes._replace(is_real=is_real))
    found, alone = load(arrays, LOAD_SCALE), load(without, LOAD_SCALE)
    np.testing.assert_allclose([found[1], alone[1]], [0.25, 0.5])
    np.testing.assert_allclose([found[2], alone[2]], [0, (0.524 / 0.53 - 0.9) / 0.15], atol=1e-6)


@pytest.mark.parametrize(
    ("count", "milli", "want"),
    [
        (0, 0, "cpu"),
        (1, 1, "share below 250"),
        (1, 249, "share below 250"),
        (1, 250, "share below 500"),
        (1, 499, "share below 500"),
        (1, 500, "share below 750"),
        (1, 749, "share below 750"),
        (1, 750, "share below 1000"),
        (1, 999, "share below 1000"),
        (1, 1000, "one GPU"),
        (2, 1000, "two GPUs"),
        (3, 1000, "four GPUs"),
        (4, 1000, "four GPUs"),
        (5, 1000, "more GPUs"),
        (8, 1000, "more GPUs"),
    ],
)
def test_the_kind_is_by_the_gpu_that_the_pod_wants(count: int, milli: int, want: str):
    pod = make_pod("p").gpu(count, milli) if count else make_pod("p")
    arrays = encode(make_snapshot(make_node("a").gpu(8), pod)).arrays
    for one in (arrays, jax_arrays.to_jax(arrays)):
        assert POD_KINDS[int(np.argmax(pod_kind(one, np.asarray(0))))] == want


def test_every_class_of_pods_is_of_one_kind():
    for cluster in device_clusters(4):
        arrays, classes = cluster.encoded.arrays, np.arange(len(cluster.encoded.specs))
        found = pod_kind(arrays, classes)
        assert found.shape == (len(classes), len(POD_KINDS))
        assert found.dtype == np.float32
        assert (found.sum(axis=1) == 1).all()
        for pod_class in classes:
            np.testing.assert_array_equal(pod_kind(arrays, np.asarray(pod_class)), found[pod_class])
