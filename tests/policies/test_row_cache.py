"""The row cache: the scores of the plain path, whatever happened to the cluster in between, and less work for them."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore import filters
from longshore.agents import NETWORKS
from longshore.agents.networks.base import Sizes
from longshore.core.arrays import features as feature_table
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import ALL, feature_specs
from longshore.core.arrays.gpu import best_fit
from longshore.core.arrays.ops import Array, set_at
from longshore.core.arrays.place import place, remove
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.forward import Op, needed, tensor_names
from longshore.policies import row_cache
from longshore.policies.base import Policy
from longshore.policies.learned import learned
from longshore.policies.row_cache import RowCache
from support.builders import random_snapshot
from support.bundle_samples import make_bundle, make_dial, make_fixed, make_hybrid
from support.compiling import encode


@pytest.fixture(autouse=True)
def many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the clusters of these tests, which are small, for large ones."""
    monkeypatch.setattr(row_cache, "FEW_NODES", 0)


def trained(network: str, *, features: tuple[str, ...] = ALL, seed: int = 0, **changes: Any) -> Bundle:
    """Make a policy of a real network, its weights large enough for differences to show."""
    blueprint = NETWORKS.load(network)().build(Sizes(len(features), 0))
    ops = needed(blueprint.ops)
    draw = np.random.default_rng(seed)
    shapes = {name: shape.shape for name, shape in blueprint.shapes}
    tensors = {name: draw.normal(size=shapes[name]).astype(np.float32) / 4 for name in tensor_names(ops)}
    envelope = Envelope((-1.0,) * len(features), (1.0,) * len(features))
    return make_bundle(features=feature_specs(features), ops=ops, tensors=tensors, envelope=envelope, **changes)


def score(heuristic: Policy, arrays: ClusterArrays, pod_class: int) -> Array:
    return heuristic.score(arrays, np.asarray(pod_class), filters.feasible(arrays, np.asarray(pod_class)))


def assert_same(policy: Bundle, kept: Policy, arrays: ClusterArrays, pod_class: int) -> None:
    want, found = score(learned(policy), arrays, pod_class), score(kept, arrays, pod_class)
    assert found.dtype == want.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def with_pod(arrays: ClusterArrays, pod_class: int, node: int, sign: int) -> ClusterArrays:
    devices = best_fit(arrays, np.asarray(pod_class))[node]
    return (place if sign > 0 else remove)(arrays, np.asarray(pod_class), np.asarray(node), devices)


def with_reading(arrays: ClusterArrays, node: int, value: float | None) -> ClusterArrays:
    readings = arrays.readings
    return arrays._replace(
        readings=readings._replace(
            latency_ms=set_at(readings.latency_ms, node, 0.0 if value is None else value),
            latency_known=set_at(readings.latency_known, node, value is not None),
        )
    )


def with_near(arrays: ClusterArrays, node: int, value: float) -> ClusterArrays:
    near = np.zeros((len(arrays.nodes.is_real), 3), np.float32)
    near[node] = value / 100
    return arrays._replace(readings=arrays.readings._replace(zone_near=near))


def in_zones(arrays: ClusterArrays) -> ClusterArrays:
    zone = np.arange(len(arrays.nodes.is_real), dtype=np.int32) % 3
    return arrays._replace(nodes=arrays.nodes._replace(zone=zone))


def without_node(arrays: ClusterArrays, node: int) -> ClusterArrays:
    return arrays._replace(nodes=arrays.nodes._replace(is_real=set_at(arrays.nodes.is_real, node, False)))


def larger_node(arrays: ClusterArrays, node: int) -> ClusterArrays:
    size = 2 * arrays.nodes.allocatable[node]
    return arrays._replace(nodes=arrays.nodes._replace(allocatable=set_at(arrays.nodes.allocatable, node, size)))


def changed(arrays: ClusterArrays, what: str, pod_class: int, node: int, value: float) -> ClusterArrays:
    match what:
        case "place":
            return with_pod(arrays, pod_class, node, 1)
        case "remove" if arrays.state.pod_count[node] > 0:
            return with_pod(arrays, pod_class, node, -1)
        case "read":
            return with_reading(arrays, node, value)
        case "forget":
            return with_reading(arrays, node, None)
        case "read no number":
            return with_reading(arrays, node, float("nan"))
        case "link":
            return with_near(arrays, node, value)
        case "leave":
            return without_node(arrays, node)
        case "grow":
            return larger_node(arrays, node)
    return arrays


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["place"] * 6 + ["remove", "read", "forget", "read no number", "link", "leave", "grow", "nothing"]
        ),
        st.integers(0, 99),
        st.integers(0, 99),
        st.floats(0, 100),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("network", ["linear", "deepsets", "gnn"])
@pytest.mark.parametrize("padded", [None, 9])
@given(seed=st.integers(0, 20), steps=STEPS)
@settings(max_examples=25)
def test_scores_stay_those_of_the_plain_path(
    network: str, padded: int | None, seed: int, steps: list[tuple[str, int, int, float, bool]]
) -> None:
    encoded = encode(random_snapshot(seed), padded_nodes=padded)
    policy, arrays = trained(network), in_zones(encoded.arrays)
    kept = learned(policy, keeps_rows=True)
    assert isinstance(kept.score, RowCache)
    for what, some_class, some_node, value, asks in steps:
        pod_class, node = some_class % len(encoded.specs), some_node % len(encoded.node_names)
        arrays = changed(arrays, what, pod_class, node, value)
        if asks:  # else several changes come together
            assert_same(policy, kept, arrays, pod_class)
    for pod_class in range(len(encoded.specs)):
        assert_same(policy, kept, arrays, pod_class)


def small() -> Encoded:
    return encode(random_snapshot(3))


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(make_bundle(), id="concat before the layer"),
        pytest.param(make_dial(), id="with a preference"),
        pytest.param(trained("deepsets", features=("cost", "latency")), id="nothing from elsewhere"),
        pytest.param(trained("linear", features=("is_feasible", "cluster_cpu_mean")), id="nothing of its own"),
        pytest.param(
            trained("linear", features=("after_cpu_used", "latency")), id="nothing but its first layer, all its own"
        ),
    ],
)
def test_other_networks_that_begin_with_a_layer_are_kept(policy: Bundle) -> None:
    kept, arrays = learned(policy, keeps_rows=True), small().arrays
    assert isinstance(kept.score, RowCache)
    for node in (0, 1, 1, 2):
        before = score(kept, arrays, 0)
        copied = before.copy()
        arrays = with_pod(arrays, 1, node, 1)
        assert_same(policy, kept, arrays, 0)
        np.testing.assert_array_equal(before, copied)


def test_a_prior_is_asked_anew_every_time() -> None:
    layers = trained("deepsets", features=("after_cpu_used", "latency"))
    ops = (
        *(replace_output(op, "correction") for op in layers.ops),
        Op("scale", ("prior",), "scaled", ("one",)),
        Op("add", ("scaled", "correction"), "score"),
    )
    policy = make_hybrid(
        "energy-latency",
        ops=ops,
        tensors=layers.tensors | {"one": np.ones(1, np.float32)},
        features=layers.features,
        envelope=layers.envelope,
    )
    kept, arrays = learned(policy, keeps_rows=True), small().arrays
    assert isinstance(kept.score, RowCache)
    for node in (0, 1, 2):
        assert_same(policy, kept, arrays, 0)
        arrays = with_pod(arrays, 0, node, 1)


def replace_output(op: Op, name: str) -> Op:
    return Op(op.kind, op.inputs, name if op.output == "score" else op.output, op.tensors)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(make_hybrid("energy-latency"), id="reads no rows"),
        pytest.param(make_fixed(4), id="of fixed size"),
        pytest.param(
            make_bundle(
                ops=(
                    Op("linear", ("rows",), "first", ("w", "b")),
                    Op("concat", ("rows", "first"), "both"),
                    Op("linear", ("both",), "score", ("w2", "b")),
                ),
                tensors={
                    "w": np.ones((4, 1), np.float32),
                    "b": np.zeros(1, np.float32),
                    "w2": np.ones((5, 1), np.float32),
                },
            ),
            id="reads the rows twice",
        ),
    ],
)
def test_other_networks_are_computed_as_ever(policy: Bundle) -> None:
    assert not isinstance(learned(policy, keeps_rows=True).score, RowCache)


class Counter:
    """Counts the rows for which the node's own features are computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[int] = []
        monkeypatch.setattr(row_cache, "columns", self)

    def __call__(self, view: View, wanted: Any) -> Array:
        self.rows.append(len(view.feasible))
        return feature_table.columns(view, wanted)

    def taken(self) -> list[int]:
        rows, self.rows = self.rows, []
        return rows


def test_only_nodes_that_changed_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, kept = encode(random_snapshot(3, num_nodes=8)).arrays, learned(trained("deepsets"), keeps_rows=True)
    counter = Counter(monkeypatch)
    score(kept, arrays, 0)
    assert counter.taken() == [8]
    score(kept, arrays, 0)
    assert counter.taken() == []
    arrays = with_pod(arrays, 0, 3, 1)
    score(kept, arrays, 0)
    assert counter.taken() == [1]
    arrays = with_reading(with_pod(arrays, 0, 5, 1), 2, 7.0)
    score(kept, arrays, 0)
    assert counter.taken() == [2]
    score(kept, arrays, 1)
    assert counter.taken() == [8]
    for node in range(8):
        arrays = with_pod(arrays, 1, node, 1)
    score(kept, arrays, 0)
    assert counter.taken() == [8]


def test_what_runs_on_nodes_may_be_written_in_place() -> None:
    arrays, policy = small().arrays, trained("deepsets")
    kept = learned(policy, keeps_rows=True)
    assert_same(policy, kept, arrays, 0)
    arrays.state.requested[1] += arrays.classes.request[0]
    arrays.state.pod_count[1] += 1
    assert_same(policy, kept, arrays, 0)


def test_devices_alone_may_change() -> None:
    arrays, policy = small().arrays, trained("deepsets")
    node = int(arrays.nodes.gpu_capacity.sum(axis=1).argmax())
    assert arrays.nodes.gpu_capacity[node].any()
    kept = learned(policy, keeps_rows=True)
    assert_same(policy, kept, arrays, 0)
    used = set_at(arrays.state.gpu_used, node, arrays.nodes.gpu_capacity[node] // 2)
    assert_same(policy, kept, arrays._replace(state=arrays.state._replace(gpu_used=used)), 0)


def test_another_cluster_empties_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = trained("gnn")
    kept = learned(policy, keeps_rows=True)
    assert_same(policy, kept, small().arrays, 0)
    assert_same(policy, kept, encode(random_snapshot(4, num_nodes=6)).arrays, 0)
    counter = Counter(monkeypatch)
    score(kept, small().arrays, 0)
    assert len(counter.taken()) == 1


def test_memory_is_bounded_and_the_class_of_longest_ago_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, kept = small().arrays, learned(trained("deepsets"), keeps_rows=True)
    per_class = arrays.nodes.is_real.shape[0] * 4 * (sum(f.scope != "cluster" for f in feature_table.FEATURES) + 32)
    monkeypatch.setattr(row_cache, "MOST_BYTES", 2 * per_class)
    counter = Counter(monkeypatch)
    for pod_class, num_computed in ((0, 1), (1, 1), (0, 0), (2, 1), (0, 0), (1, 1)):
        score(kept, arrays, pod_class)
        assert len(counter.taken()) == num_computed


def test_few_nodes_are_scored_bit_for_bit_as_by_the_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cache, "FEW_NODES", 100)
    arrays, policy = small().arrays, trained("deepsets")
    kept = learned(policy, keeps_rows=True)
    for node in (0, 3, 1):
        arrays = with_pod(arrays, 0, node, 1)
        for pod_class in (0, 1):
            np.testing.assert_array_equal(score(kept, arrays, pod_class), score(learned(policy), arrays, pod_class))


def test_scores_that_are_no_numbers_are_no_warning() -> None:
    # NumPy would warn, and does so at times where all is in order, by what BLAS leaves in the processor's flags.
    policy = trained("deepsets")
    endless = {name: np.full_like(leaf, np.inf) for name, leaf in policy.tensors.items()}
    policy = msgspec.structs.replace(policy, tensors=endless)
    for heuristic in (learned(policy), learned(policy, keeps_rows=True)):
        assert np.isnan(score(heuristic, small().arrays, 0)).any()


@pytest.mark.parametrize("keeps_rows", [False, True])
def test_a_feature_that_is_no_number_is_warned_of(*, keeps_rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(View, "saturated", lambda _view, values, _half: np.zeros_like(values) / 0.0)
    encoded = encode(random_snapshot(0))
    heuristic = learned(trained("deepsets"), keeps_rows=keeps_rows)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
        score(heuristic, encoded.arrays, 0)
