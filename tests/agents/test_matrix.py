"""Every registered network and learner: blind to nothing that matters, equivariant, masked, and able to learn."""

import ast
import dataclasses
import inspect
import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import toy_cluster
from agents.toys import FEATURES, drawn, inputs_of, make_cluster, make_inputs, make_seen, permuted, random_seen
from longshore.agents import LEARNERS, NETWORKS
from longshore.agents.base import Learner
from longshore.agents.networks.base import VALUE, Blueprint, Sizes
from longshore.agents.ranges import declared
from longshore.core.network.forward import SCORE, Inputs, forward, needed, tensor_names
from support import jax_arrays
from support.compiling import encode

NODES = 5
FIXED_SIZE = ("mlp",)
"""The seeds' baseline; every other network follows its nodes and serves any number of them."""
SMALL: dict[str, dict[str, Any]] = {
    "qtable": {"envs": 4, "segment": 12, "steps": 100, "buckets": 4, "resource": "cpu", "exploration": 0.5},
    "dqn": {"envs": 4, "segment": 12, "steps": 100, "memory": 64, "batch": 8, "learning_starts": 4, "horizon": 1},
    "actor_critic": {"envs": 4, "segment": 12, "steps": 100},
    "ppo": {"envs": 4, "segment": 12, "steps": 100, "epochs": 2, "parts": 2},
    "imitation": {"envs": 4, "segment": 12, "steps": 100, "epochs": 2, "parts": 2},
    "evolution": {"population": 4, "traces": 1},
}
"""What makes each learner small; one that is not named here is tried as it is."""
SMALL_NETWORKS = {"mlp": {"width": 4}, "deepsets": {"width": 4}, "gnn": {"width": 4, "rounds": 1}}
every_network = pytest.mark.parametrize("name", NETWORKS.names())
every_equivariant = pytest.mark.parametrize("name", [name for name in NETWORKS.names() if name not in FIXED_SIZE])
some_seeds = st.integers(0, 40)


def network(name: str, nodes: int = NODES, **sizes: Any) -> Blueprint:
    return NETWORKS.load(name)().build(Sizes(len(FEATURES), nodes, **sizes))


@cache
def learner(name: str) -> Any:
    return LEARNERS.load(name)(**SMALL.get(name, {}))


def scores(blueprint: Blueprint, tensors: Any, inputs: Inputs) -> np.ndarray:
    return forward(needed(blueprint.ops), tensors, inputs)[SCORE]


def pairings() -> list[tuple[str, str]]:
    """Every learner with every network; one that has its own is alone."""
    found = []
    for name in LEARNERS.names():
        has_own = LEARNERS.load(name).has_own_network
        found += [(name, "own")] if has_own else [(name, network) for network in NETWORKS.names()]
    return found


@pytest.mark.parametrize(("registry", "name"), [(r, name) for r in (LEARNERS, NETWORKS) for name in r.names()])
def test_every_hyperparameter_has_one_line_about_it(registry: Any, name: str) -> None:
    (body,) = ast.parse(inspect.getsource(registry.load(name))).body
    assert isinstance(body, ast.ClassDef)
    for field, line in itertools.pairwise(body.body):
        if isinstance(field, ast.AnnAssign):
            assert isinstance(line, ast.Expr)
            text = ast.literal_eval(line.value)
            assert text.endswith(".")
            assert "\n" not in text


@pytest.mark.parametrize(("registry", "name"), [(r, name) for r in (LEARNERS, NETWORKS) for name in r.names()])
def test_every_default_is_within_its_range(registry: Any, name: str) -> None:
    for one in declared(registry.load(name)).values():
        assert (one.range is None) == (one.kind not in (int, float))
        assert one.range is None or one.range.least <= one.default <= one.range.most


@pytest.mark.parametrize(("registry", "name"), [(r, name) for r in (LEARNERS, NETWORKS) for name in r.names()])
def test_hyperparameters_are_frozen(registry: Any, name: str) -> None:
    unit = registry.load(name)()
    assert dataclasses.is_dataclass(unit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        unit.width = 1


@every_equivariant
@given(some_seeds)
@settings(max_examples=15)
def test_scores_follow_the_nodes(name: str, seed: int) -> None:
    blueprint, inputs = network(name), make_inputs(seed, NODES)
    tensors = drawn(blueprint, seed)
    order = np.random.default_rng(seed).permutation(NODES)
    want = scores(blueprint, tensors, inputs)
    assert np.ptp(want) > 1e-3
    np.testing.assert_allclose(scores(blueprint, tensors, permuted(inputs, order)), want[order], rtol=1e-4, atol=1e-4)


@every_equivariant
@given(some_seeds)
@settings(max_examples=15)
def test_the_value_does_not_depend_on_the_order(name: str, seed: int) -> None:
    blueprint, inputs = network(name), make_inputs(seed, NODES)
    tensors = drawn(blueprint, seed)
    order = np.random.default_rng(seed).permutation(NODES)
    plain, moved = (forward(blueprint.ops, tensors, one)[VALUE] for one in (inputs, permuted(inputs, order)))
    np.testing.assert_allclose(moved, plain, rtol=1e-4, atol=1e-4)


@every_equivariant
@pytest.mark.parametrize("seed", range(3))
def test_padding_changes_nothing(name: str, seed: int) -> None:
    blueprint, padded = network(name), make_inputs(seed, NODES, 3)
    tensors = drawn(blueprint, seed)
    # Numbers that would show, would anyone read them.
    padded = padded._replace(rows=np.where(padded.is_real[:, None], padded.rows, np.float32(50)))
    found, want = (forward(blueprint.ops, tensors, one) for one in (padded, make_inputs(seed, NODES)))
    np.testing.assert_allclose(found[SCORE][:NODES], want[SCORE], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[VALUE], want[VALUE], rtol=1e-5, atol=1e-5)


@every_equivariant
def test_the_same_tensors_serve_any_number_of_nodes(name: str) -> None:
    assert network(name, 3) == network(name, 300)
    tensors = drawn(network(name, 3))
    for nodes in (3, 10, 300):
        found = scores(network(name, 3), tensors, make_inputs(0, nodes))
        assert found.shape == (nodes,)
        assert np.isfinite(found).all()


@every_equivariant
def test_every_node_twice_is_scored_as_once(name: str) -> None:
    # Pools are means over nodes: a cluster that is larger and otherwise alike is judged alike.
    blueprint, inputs = network(name), make_inputs(1, NODES)
    tensors = drawn(blueprint)
    twice = permuted(inputs, np.concatenate([np.arange(NODES), np.arange(NODES)]))
    found = scores(blueprint, tensors, twice)
    np.testing.assert_allclose(found, np.tile(scores(blueprint, tensors, inputs), 2), rtol=1e-4, atol=1e-4)


@every_network
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("changed", "value"), [("load", 6), ("pod_cpu", 1500)])
def test_load_and_request_change_the_scores(name: str, seed: int, changed: str, value: int) -> None:
    blueprint = network(name)
    tensors = drawn(blueprint, seed)
    before = inputs_of(encode(make_cluster(seed, NODES)))
    after = inputs_of(encode(make_cluster(seed, NODES, **{changed: value})))
    moved = np.abs(scores(blueprint, tensors, after) - scores(blueprint, tensors, before))
    assert moved[0] > 1e-3


@every_network
@pytest.mark.parametrize("has_prior", [False, True])
def test_every_tensor_of_the_policy_has_a_part_in_its_scores(name: str, has_prior: bool) -> None:
    blueprint = network(name, has_prior=has_prior)
    tensors, inputs = drawn(blueprint), make_inputs(0, NODES)
    if has_prior:
        inputs = inputs._replace(prior=-np.arange(NODES, dtype=np.float32)[:, None])
    want = scores(blueprint, tensors, inputs)
    for tensor in tensor_names(needed(blueprint.ops)):
        changed = tensors | {tensor: tensors[tensor] + np.float32(0.3)}
        assert np.abs(scores(blueprint, changed, inputs) - want).max() > 1e-4, tensor


# A population plays without exploring; `arrays.choose` masks.
@pytest.mark.parametrize("name", [name for name in LEARNERS.names() if isinstance(learner(name), Learner)])
def test_no_learner_acts_on_an_infeasible_node(name: str) -> None:
    found = learner(name)
    found = dataclasses.replace(found, may_defer=False) if found.may_defer else found
    example = random_seen(0)
    sizes = Sizes(2, example.feasible.shape[1])
    blueprint = found.build(sizes) if found.has_own_network else NETWORKS.load("mlp")(width=4).build(sizes)

    @jax.jit
    def act(state: Any, key: Any, seen: Any) -> Any:
        return found.act(blueprint, state, key, seen)[0]

    start = found.init(blueprint, jax.random.PRNGKey(0), example)

    @given(st.integers(0, 10_000))
    @settings(max_examples=30)
    def check(seed: int) -> None:
        seen, key = random_seen(seed), jax.random.PRNGKey(seed)
        # Numbers of every size: whatever was learnt, masks hold.
        state = jax.tree.map(
            lambda leaf: 1e3 * jax.random.normal(key, leaf.shape, leaf.dtype) if leaf.dtype == jnp.float32 else leaf,
            start,
        )
        action, feasible = np.asarray(act(state, key, seen)), np.asarray(seen.feasible)
        for node, mask in zip(action, feasible, strict=True):
            assert mask[node] if mask.any() else node == -1

    check()


@pytest.mark.parametrize(("name", "network_name"), pairings())
def test_every_pairing_trains_on_a_toy_cluster(name: str, network_name: str) -> None:
    found = learner(name)
    sizes = Sizes(len(toy_cluster.FEATURES), 3)
    if network_name == "own":
        blueprint = found.build(sizes._replace(features=len(found.features)))
    else:
        blueprint = NETWORKS.load(network_name)(**SMALL_NETWORKS.get(network_name, {})).build(sizes)
    cluster = toy_cluster.toy_cluster()
    before, after, figures = cluster.train(found, blueprint, (3, 5))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((after, figures)))
    assert_trained(found, blueprint, before, after)
    # The same seeds in other places of the same program: each is what it is alone.
    _, swapped, _ = cluster.train(found, blueprint, (5, 3))
    jax_arrays.assert_same_trees(jax.tree.map(lambda leaf: leaf[::-1], swapped), after)


def assert_trained(found: Any, blueprint: Blueprint, before: Any, after: Any) -> None:
    """What the exported policy reads has changed, every tensor of it; and every seed is another."""
    changing = {"values"} if found.has_own_network else set(after)
    for tensor in set(tensor_names(needed(blueprint.ops))) & changing:
        moved = (np.asarray(before[tensor]) != np.asarray(after[tensor])).reshape(2, -1)
        assert moved.any(axis=1).all(), tensor
        assert (np.asarray(after[tensor][0]) != np.asarray(after[tensor][1])).any(), tensor
    assert set(tensor_names(needed(blueprint.ops))) <= set(after)


def test_what_is_seen_has_the_shapes_of_the_toys() -> None:
    cluster = toy_cluster.toy_cluster()
    seen = cluster.look(cluster.begin(jax.vmap(jax.random.PRNGKey)(jnp.arange(2))))
    like = make_seen(np.zeros((8, 3, len(toy_cluster.FEATURES))))
    assert jax.tree.structure(seen) == jax.tree.structure(like)
    assert [leaf.dtype for leaf in jax.tree.leaves(seen)] == [leaf.dtype for leaf in jax.tree.leaves(like)]
