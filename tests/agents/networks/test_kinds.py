"""By kind of pod: every kind has weights of its own, preferences mix them, and no other node is looked at."""

import numpy as np
import pytest

from agents.toys import FEATURES, drawn, make_inputs
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.kinds import Kinds
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import POD_KINDS, ROW_KINDS, SCORE, Inputs, forward, needed

NODES, TERMS = 4, 2
BLUEPRINT = Kinds().build(Sizes(len(FEATURES), NODES))
DIAL = Kinds().build(Sizes(len(FEATURES), NODES, terms=TERMS))
BY_LOAD = Kinds(by_load=True).build(Sizes(len(FEATURES), NODES, terms=TERMS))
every_kind = pytest.mark.parametrize("kind", range(len(POD_KINDS)), ids=POD_KINDS)


def inputs_of_kind(kind: int, preference: tuple[float, ...] = (), nodes: int = NODES) -> Inputs:
    pod_kind = np.eye(len(POD_KINDS), dtype=np.float32)[kind]
    return make_inputs(0, nodes)._replace(pod_kind=pod_kind, preference=np.array(preference, np.float32))


def scores(tensors: dict[str, Array], inputs: Inputs, blueprint: object = BLUEPRINT) -> Array:
    return forward(blueprint.ops, tensors, inputs)[SCORE]


@every_kind
def test_scores_are_weighted_sums_with_the_weights_of_the_kind(kind: int) -> None:
    tensors, inputs = drawn(BLUEPRINT), inputs_of_kind(kind)
    want = inputs.rows @ tensors["score.weight"][:, kind] + tensors["score.bias"][kind]
    np.testing.assert_allclose(scores(tensors, inputs), want, rtol=1e-5, atol=1e-6)


@every_kind
def test_other_weights_of_a_kind_change_the_scores_of_that_kind_alone(kind: int) -> None:
    before = drawn(BLUEPRINT)
    after = {name: tensor.copy() for name, tensor in before.items()}
    after["score.weight"][:, kind] += 1.0
    after["score.bias"][kind] += 1.0
    for other in range(len(POD_KINDS)):
        changes = scores(after, inputs_of_kind(other)) - scores(before, inputs_of_kind(other))
        assert (changes > 0.5).all() if other == kind else (changes == 0).all()


@every_kind
def test_a_preference_mixes_what_its_terms_would_score_alone(kind: int) -> None:
    tensors = drawn(DIAL)
    first, second, both = (
        scores(tensors, inputs_of_kind(kind, preference), DIAL) for preference in ((1.0, 0.0), (0.0, 1.0), (0.25, 0.75))
    )
    assert not np.allclose(first, second)
    np.testing.assert_allclose(both, 0.25 * first + 0.75 * second, rtol=1e-5, atol=1e-6)


@every_kind
def test_a_load_mixes_what_an_empty_and_a_full_cluster_would_score_and_adds_scarce_cpu(kind: int) -> None:
    tensors, inputs = drawn(BY_LOAD), inputs_of_kind(kind, (0.25, 0.75))
    empty, full, scarce, between = (
        scores(tensors, inputs._replace(load=np.array(load, np.float32)), BY_LOAD)
        for load in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.3, 0.7, 0.5))
    )
    assert not np.allclose(empty, full)
    assert not np.allclose(scarce, 0)
    np.testing.assert_allclose(between, 0.3 * empty + 0.7 * full + 0.5 * scarce, rtol=1e-5, atol=1e-6)


def test_every_kind_has_weights_for_every_term() -> None:
    shapes = {name: shape.shape for name, shape in DIAL.shapes}
    assert shapes["score.weight"] == (len(FEATURES), TERMS * len(POD_KINDS))
    tensors = drawn(DIAL)
    found = {tuple(scores(tensors, inputs_of_kind(kind, (1.0, 0.0)), DIAL)) for kind in range(len(POD_KINDS))}
    assert len(found) == len(POD_KINDS)


def test_a_node_scores_the_same_in_another_cluster() -> None:
    tensors, small, large = drawn(BLUEPRINT), inputs_of_kind(1), inputs_of_kind(1, nodes=9)
    large = large._replace(rows=np.concatenate([small.rows[:1], large.rows[1:]]))
    np.testing.assert_allclose(scores(tensors, large)[0], scores(tensors, small)[0], rtol=1e-6)
    assert {op.kind for op in needed(BLUEPRINT.ops)} <= ROW_KINDS
    assert {op.kind for op in needed(DIAL.ops)} <= ROW_KINDS


def test_a_hybrid_begins_as_its_heuristic() -> None:
    blueprint = Kinds().build(Sizes(len(FEATURES), NODES, has_prior=True))
    tensors = {name: np.full(shape.shape, shape.fill, np.float32) for name, shape in blueprint.shapes}
    assert all(shape.deviation == 0 for name, shape in blueprint.shapes if name.startswith("score"))
    prior = -np.arange(NODES, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(scores(tensors, inputs_of_kind(0)._replace(prior=prior), blueprint), prior[:, 0])
