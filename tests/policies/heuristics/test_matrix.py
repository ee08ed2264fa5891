"""What every policy of the registry owes: only feasible nodes, whatever the order of rows, equal in NumPy and JAX."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.choose import choose
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.words.snapshot import Snapshot
from longshore.filters import feasible
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode

jax.config.update("jax_enable_x64", True)

ROOT = Path(__file__).parents[3]
NAMES = REGISTRY.names()

every_policy = pytest.mark.parametrize("name", NAMES)
seeds = st.integers(0, 10_000)


def load(name: str) -> Policy:
    unit = REGISTRY.load(name)
    assert isinstance(unit, Policy)
    return unit


def decide(heuristic: Policy) -> Callable[..., tuple[Array, Array, Array]]:
    """Return (arrays, pod class, feasible) -> scores, chosen node, devices of every node."""

    def decision(arrays: Any, pod_class: Array, mask: Array) -> tuple[Array, Array, Array]:
        scores = heuristic.score(arrays, pod_class, mask)
        node = choose(arrays, scores, mask, has_random_ties=heuristic.has_random_ties)
        return scores, node, heuristic.devices(arrays, pod_class)

    return decision


def chosen_name(heuristic: Policy, encoded: Encoded, pod_class: int, mask: Array) -> str:
    node = int(decide(heuristic)(encoded.arrays, pod_class, mask)[1])
    return encoded.node_names[node] if node >= 0 else ""


def with_last_node(encoded: Encoded, name: str) -> Encoded:
    state = encoded.arrays.state._replace(last_node=np.array(encoded.node_index[name], np.int32))
    return replace(encoded, arrays=encoded.arrays._replace(state=state))


def some_mask(encoded: Encoded, pod_class: int, seed: int) -> Array:
    """Return where the class may go, less some nodes by the seed, so that also good nodes are forbidden."""
    allowed = feasible(encoded.arrays, pod_class)
    return allowed & (np.random.default_rng(seed).random(len(allowed)) < 0.7)


@every_policy
def test_policies_are_heuristics_with_a_scoring_function(name: str) -> None:
    assert callable(load(name).score)
    assert REGISTRY.describe(name)


@every_policy
@settings(max_examples=12)
@given(seed=seeds)
def test_policies_never_choose_a_masked_node(name: str, seed: int) -> None:
    encoded = encode(random_snapshot(seed), seed=seed, padded_nodes=9)
    for pod_class in range(len(encoded.specs)):
        mask = some_mask(encoded, pod_class, seed + pod_class)
        scores, node, _ = decide(load(name))(encoded.arrays, pod_class, mask)
        assert scores.shape == mask.shape
        assert np.isfinite(scores[mask]).all()
        assert mask[node] if mask.any() else node == -1


@every_policy
def test_policies_choose_nothing_when_nothing_fits(name: str) -> None:
    snapshot = make_snapshot(make_node("a"), make_node("b"), make_pod("huge").cpu("64").gpu(2))
    encoded = encode(snapshot, padded_nodes=4)
    mask = feasible(encoded.arrays, 0)
    assert not mask.any()
    assert decide(load(name))(encoded.arrays, 0, mask)[1] == -1


@every_policy
@settings(max_examples=8)
@given(seed=seeds)
def test_policies_do_not_see_padding(name: str, seed: int) -> None:
    snapshot = random_snapshot(seed)
    narrow, wide = encode(snapshot, seed=seed), encode(snapshot, seed=seed, padded_nodes=16)
    num_nodes = len(narrow.node_names)
    for pod_class in range(len(narrow.specs)):
        mask = some_mask(narrow, pod_class, seed)
        padded_mask = np.pad(mask, (0, 16 - num_nodes))
        _, node, devices = decide(load(name))(narrow.arrays, pod_class, mask)
        _, padded_node, padded_devices = decide(load(name))(wide.arrays, pod_class, padded_mask)
        assert node == padded_node
        assert (devices == padded_devices[:num_nodes]).all()


@every_policy
@settings(max_examples=8)
@given(seed=seeds)
def test_policies_do_not_see_the_order_of_rows(name: str, seed: int) -> None:
    snapshot = random_snapshot(seed)
    shuffled = replace(snapshot, nodes=tuple(random.Random(seed).sample(snapshot.nodes, len(snapshot.nodes))))
    last = snapshot.nodes[0].name
    one, other = (with_last_node(encode(s, seed=seed), last) for s in (snapshot, shuffled))
    for pod_class in range(len(one.specs)):
        mask = some_mask(one, pod_class, seed)
        allowed = dict(zip(one.node_names, mask, strict=True))
        shuffled_mask = np.array([allowed[node] for node in other.node_names])
        assert chosen_name(load(name), one, pod_class, mask) == chosen_name(load(name), other, pod_class, shuffled_mask)


@pytest.mark.parametrize("name", [name for name in NAMES if not load(name).is_order_dependent])
@settings(max_examples=8)
@given(seed=seeds)
def test_scores_do_not_depend_on_names(name: str, seed: int) -> None:
    snapshot = random_snapshot(seed)
    one, other = encode(snapshot, seed=seed), encode(renamed(snapshot, seed), seed=seed)
    for pod_class in range(len(one.specs)):
        mask = some_mask(one, pod_class, seed)
        scores, other_scores = (load(name).score(e.arrays, pod_class, mask) for e in (one, other))
        assert (scores[mask] == other_scores[mask]).all()


def renamed(snapshot: Snapshot, seed: int) -> Snapshot:
    """Deal the same names out anew."""
    names = [node.name for node in snapshot.nodes]
    new = dict(zip(names, random.Random(seed).sample(names, len(names)), strict=True))
    return replace(
        snapshot,
        nodes=tuple(replace(node, name=new[node.name]) for node in snapshot.nodes),
        pods=tuple(replace(pod, bound_to=new.get(pod.bound_to, "")) for pod in snapshot.pods),
    )


@every_policy
@pytest.mark.parametrize("seed", [3, 6])
def test_numpy_and_jax_agree_to_the_last_bit_of_integers(name: str, seed: int) -> None:
    encoded = encode(random_snapshot(seed), seed=seed, padded_nodes=8)
    classes = np.arange(len(encoded.specs))
    masks = np.stack([some_mask(encoded, int(pod_class), seed) for pod_class in classes])
    decision = decide(load(name))
    wants = [decision(encoded.arrays, pod_class, mask) for pod_class, mask in zip(classes, masks, strict=True)]
    arrays = jax.tree.map(jax.numpy.asarray, encoded.arrays)
    got = jax.jit(jax.vmap(decision, in_axes=(None, 0, 0)))(arrays, classes, masks)
    for part, array in zip(zip(*wants, strict=True), got, strict=True):
        want = np.stack(part)
        assert want.dtype == array.dtype
        if np.issubdtype(want.dtype, np.integer):
            np.testing.assert_array_equal(want, array)
        else:
            np.testing.assert_allclose(np.asarray(array)[masks], want[masks], rtol=1e-12, atol=1e-12)


@every_policy
def test_jit_without_vmap_gives_the_same_choice(name: str) -> None:
    encoded = encode(random_snapshot(11), seed=11)
    mask = feasible(encoded.arrays, 2)
    _, want, want_devices = decide(load(name))(encoded.arrays, 2, mask)
    arrays = jax.tree.map(jax.numpy.asarray, encoded.arrays)
    _, node, devices = jax.jit(decide(load(name)))(arrays, 2, mask)
    assert want == node
    np.testing.assert_array_equal(want_devices, devices)


@every_policy
@settings(max_examples=5)
@given(seed=seeds)
def test_placing_by_a_policy_never_overcommits(name: str, seed: int) -> None:
    encoded = encode(random_snapshot(seed, num_nodes=4, num_pods=40), seed=seed)
    arrays, heuristic = encoded.arrays, load(name)
    for pod in encoded.snapshot.pending:
        pod_class = encoded.class_of(pod)
        mask = feasible(arrays, pod_class)
        _, node, devices = decide(heuristic)(arrays, pod_class, mask)
        if node < 0:
            continue
        gpu = pod.spec.gpu
        assert devices[node].sum() == (gpu.count * gpu.milli if gpu else 0)
        arrays = place(arrays, pod_class, node, devices[node])
    assert (arrays.state.requested <= arrays.nodes.allocatable).all()
    assert (arrays.state.gpu_used <= arrays.nodes.gpu_capacity).all()


def test_the_page_on_baselines_names_every_policy() -> None:
    page = (ROOT / "docs" / "concepts" / "baselines.md").read_text(encoding="utf-8")
    assert [name for name in REGISTRY.table if f"`{name}`" not in page] == []
