"""The builder of networks: shapes that fit, tensors as they begin, hybrids that begin as their heuristic."""

import jax
import numpy as np
import pytest

from agents.toys import FEATURES, make_inputs
from longshore.agents import NETWORKS
from longshore.agents.networks.base import VALUE, Blueprint, Builder, Shape, Sizes
from longshore.core.network.forward import CONTEXT, PREFERENCE, PRIOR, ROWS, SCORE, check, forward, needed, tensor_names

NODES, TERMS = 3, 2
SIZES = Sizes(len(FEATURES), NODES)
every_network = pytest.mark.parametrize("name", NETWORKS.names())


def test_tensors_are_drawn_as_their_shapes_say() -> None:
    blueprint = Blueprint((), (("wide", Shape((200, 100), 0.5)), ("fixed", Shape((3,), 0.0, 1.5))))
    found = blueprint.init(jax.random.PRNGKey(0))
    assert found["fixed"].tolist() == [1.5, 1.5, 1.5]
    # Five deviations of the deviation of 20,000 draws.
    assert float(found["wide"].std()) == pytest.approx(0.5, abs=5 * 0.5 / (2 * 20_000) ** 0.5)
    assert float(found["wide"].mean()) == pytest.approx(0.0, abs=5 * 0.5 / 20_000**0.5)
    assert {leaf.dtype for leaf in found.values()} == {np.dtype(np.float32)}


def test_tensors_depend_on_the_key_and_differ_from_each_other() -> None:
    blueprint = Blueprint((), (("a", Shape((4,), 1.0)), ("b", Shape((4,), 1.0))))
    first, again, other = (blueprint.init(jax.random.PRNGKey(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first["a"], again["a"])
    assert (first["a"] != other["a"]).all()
    assert (first["a"] != first["b"]).all()


def test_a_linear_layer_keeps_the_size_of_what_goes_through() -> None:
    builder = Builder(Sizes(50, NODES))
    builder.linear("out", ROWS, 8)
    assert builder.shapes["out.weight"] == Shape((50, 8), (2 / 50) ** 0.5)
    assert builder.shapes["out.bias"] == Shape((8,), 0.0)


@pytest.mark.parametrize("terms", [0, TERMS])
@pytest.mark.parametrize("has_prior", [False, True])
@every_network
def test_a_network_is_one_that_a_bundle_may_hold(name: str, has_prior: bool, terms: int) -> None:
    blueprint = NETWORKS.load(name)().build(Sizes(len(FEATURES), NODES, terms, has_prior))
    tensors = {name: np.zeros(shape.shape, np.float32) for name, shape in blueprint.shapes}
    check(blueprint.ops, tensors, {ROWS: len(FEATURES), PRIOR: int(has_prior), PREFERENCE: terms}, blueprint.nodes)
    assert set(tensor_names(blueprint.ops)) == set(tensors)


@every_network
def test_scores_do_not_wait_for_the_value(name: str) -> None:
    blueprint = NETWORKS.load(name)().build(SIZES)
    outputs = {op.output for op in needed(blueprint.ops)}
    assert SCORE in outputs
    assert not {VALUE, CONTEXT} & outputs
    assert not any(tensor.startswith("value") for tensor in tensor_names(needed(blueprint.ops)))


@every_network
def test_scores_begin_almost_equal(name: str) -> None:
    blueprint = NETWORKS.load(name)().build(SIZES)
    tensors = jax.tree.map(np.asarray, blueprint.init(jax.random.PRNGKey(3)))
    scores = forward(blueprint.ops, tensors, make_inputs(0, NODES))[SCORE]
    assert np.ptp(scores) < 0.1
    assert (scores != 0).any()


@every_network
def test_a_hybrid_begins_as_its_heuristic(name: str) -> None:
    blueprint = NETWORKS.load(name)().build(SIZES._replace(has_prior=True))
    tensors = jax.tree.map(np.asarray, blueprint.init(jax.random.PRNGKey(3)))
    prior = np.array([[-1.0], [0.0], [-2.0]], np.float32)
    found = forward(blueprint.ops, tensors, make_inputs(0, NODES)._replace(prior=prior))[SCORE]
    np.testing.assert_array_equal(found, prior[:, 0])


@every_network
def test_the_dial_changes_what_is_scored(name: str) -> None:
    blueprint = NETWORKS.load(name)().build(SIZES._replace(terms=TERMS))
    tensors = jax.tree.map(np.asarray, blueprint.init(jax.random.PRNGKey(3)))
    found = [
        forward(blueprint.ops, tensors, make_inputs(0, NODES)._replace(preference=np.array(dial, np.float32)))[SCORE]
        for dial in ([1, 0], [0, 1])
    ]
    assert not np.allclose(*found, rtol=0, atol=1e-6)
