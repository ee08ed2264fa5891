"""The gnn and node-to-zone latency: it changes the scores, order and padding do not, any number of zones is served."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.agents.networks.base import Sizes
from longshore.agents.networks.gnn import Gnn
from longshore.core.arrays.ops import Array
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.network.forward import SCORE, forward, needed
from longshore.core.words.snapshot import Snapshot
from longshore.policies.inputs import policy_inputs
from support import jax_arrays
from support.builders import NodeBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode

FEATURES = ("node_cpu_used", "after_cpu_used", "latency")
BLUEPRINT = Gnn(width=8).build(Sizes(len(FEATURES), 0))
OPS = needed(BLUEPRINT.ops)
NO_PREFERENCE = np.zeros(0, np.float32)
seeds = st.integers(0, 1000)


def drawn_tensors() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    return {name: draw.normal(0, 0.5, shape.shape).astype(np.float32) for name, shape in BLUEPRINT.shapes}


TENSORS = drawn_tensors()


def cluster(seed: int, nodes: int = 9, zones: int = 3, order: Array | None = None) -> Snapshot:
    """Make unlike nodes, one of them without a zone, most of which know how far some zones are."""
    draw = np.random.default_rng(seed)
    names = [f"zone-{number}" for number in range(zones)]
    built = []
    for number in range(nodes):
        node = make_node(f"node-{number:03d}").cpu(int(draw.choice([2000, 4000, 8000])))
        node = node if number == 0 else node.label(ZONE_KEY, names[number % zones])
        ways = tuple((zone, float(draw.integers(0, 30))) for zone in names if draw.random() < 0.8)
        built.append(node.readings(latency_ms=float(draw.integers(5, 50)), zone_latency_ms=ways))
    if order is not None:
        built = [built[place] for place in order]
    return make_snapshot(*built, make_pod("p").cpu(500))


def scores(snapshot: Snapshot, padded_nodes: int | None = None) -> Array:
    """Score the real nodes."""
    arrays = encode(snapshot, padded_nodes=padded_nodes).arrays
    inputs = policy_inputs(arrays, np.asarray(0), arrays.nodes.is_real, FEATURES, None, NO_PREFERENCE)
    return forward(OPS, TENSORS, inputs)[SCORE][: len(snapshot.nodes)]


def linked(to_far_ms: float | None) -> Snapshot:
    """Make two zones, the second one busier; only node `a` may know how far that is."""
    ways = () if to_far_ms is None else (("far", to_far_ms),)
    return make_snapshot(
        make_node("a").label(ZONE_KEY, "here").readings(zone_latency_ms=ways),
        make_node("b").label(ZONE_KEY, "here"),
        make_node("c").cpu(1000).label(ZONE_KEY, "far"),
        make_pod("p").cpu(500),
    )


def test_latency_to_another_zone_changes_the_scores() -> None:
    near, far, unknown = (scores(linked(ms)) for ms in (0.5, 20.0, None))
    assert abs(near[0] - far[0]) > 1e-3
    assert abs(far[0] - unknown[0]) > 1e-3


def test_a_zone_that_is_far_away_counts_as_one_that_is_not_known() -> None:
    np.testing.assert_allclose(scores(linked(1e9)), scores(linked(None)), atol=1e-5)


def test_latency_to_the_own_zone_changes_nothing() -> None:
    own = make_node("a").label(ZONE_KEY, "here")
    others = (make_node("b").label(ZONE_KEY, "here"), make_pod("p").cpu(500))
    known = make_snapshot(own.readings(zone_latency_ms=(("here", 7.0),)), *others)
    np.testing.assert_array_equal(scores(known), scores(make_snapshot(own, *others)))


@given(seeds)
@settings(max_examples=20)
def test_nodes_in_another_order_get_their_own_scores(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(9)
    np.testing.assert_allclose(scores(cluster(seed, order=order)), scores(cluster(seed))[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("nodes", "zones"), [(1, 1), (4, 1), (5, 7), (40, 3), (40, 12)])
def test_any_number_of_nodes_and_zones_is_scored(nodes: int, zones: int) -> None:
    found = scores(cluster(1, nodes, zones))
    assert found.shape == (nodes,)
    assert np.isfinite(found).all()


def test_a_cluster_twice_over_is_scored_as_once() -> None:
    ways = {"x": (("y", 3.0),), "y": (("x", 9.0),)}

    def nodes(prefix: str) -> list[NodeBuilder]:
        return [
            make_node(f"{prefix}{i}").cpu(1000 * (i + 1)).label(ZONE_KEY, zone).readings(zone_latency_ms=ways[zone])
            for i, zone in enumerate("xyyx")
        ]

    pod = make_pod("p").cpu(500)
    once, twice = scores(make_snapshot(*nodes("a"), pod)), scores(make_snapshot(*nodes("a"), *nodes("b"), pod))
    np.testing.assert_allclose(twice, [*once, *once], rtol=1e-4, atol=1e-5)


@given(seeds)
@settings(max_examples=10)
def test_padding_changes_nothing(seed: int) -> None:
    np.testing.assert_allclose(scores(cluster(seed), 13), scores(cluster(seed)), rtol=1e-4, atol=1e-5)


def test_numpy_and_jax_agree() -> None:
    compiled = jax.jit(lambda inputs: forward(OPS, TENSORS, inputs)[SCORE])
    for seed in range(5):
        arrays = encode(cluster(seed)).arrays
        inputs = policy_inputs(arrays, np.asarray(0), arrays.nodes.is_real, FEATURES, None, NO_PREFERENCE)
        found = compiled(jax_arrays.to_jax(inputs))
        np.testing.assert_allclose(found, forward(OPS, TENSORS, inputs)[SCORE], rtol=1e-5, atol=1e-5)
