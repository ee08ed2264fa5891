"""The interpreter of networks: each operation against a plain loop, in both libraries, blind to padding and order."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.ops import Array
from longshore.core.network.forward import (
    KINDS,
    MAX_WIDTH,
    POD_KINDS,
    ROW_KINDS,
    Inputs,
    Op,
    bind,
    check,
    forward,
    is_linear_in,
    needed,
    run,
    tensor_names,
)
from longshore.core.words.errors import InputError, UnknownNameError
from support import jax_arrays

FEATURES, TERMS, REAL_NODES, NODES = 3, 2, 5, 7
seeds = st.integers(0, 10_000)


def make_inputs(seed: int, real: int = REAL_NODES, nodes: int = NODES) -> Inputs:
    """Draw inputs; padding holds numbers that would show, would anyone read them."""
    draw = np.random.default_rng(seed)
    is_real = np.arange(nodes) < real
    return Inputs(
        rows=draw.normal(size=(nodes, FEATURES)).astype(np.float32),
        is_real=is_real,
        zone=np.where(is_real, draw.integers(0, 4, nodes), 0).astype(np.int32),
        app=draw.integers(0, 4, nodes).astype(np.float32),
        near=(draw.random((nodes, 3)) * draw.integers(0, 2, (nodes, 3))).astype(np.float32),
        prior=-draw.integers(0, 9, (nodes, 1)).astype(np.float32),
        preference=draw.random(TERMS).astype(np.float32),
        pod_kind=np.eye(len(POD_KINDS), dtype=np.float32)[draw.integers(len(POD_KINDS))],
        load=np.array([0.75, 0.25], np.float32),
    )


def value(kind: str, names: tuple[str, ...], inputs: Inputs, *tensors: Array) -> Array:
    """Run one operation."""
    labels = tuple(f"t{number}" for number in range(len(tensors)))
    ops = (Op(kind, names, "out", labels), Op("concat", ("prior",), "score"))
    return forward(ops, dict(zip(labels, tensors, strict=True)), inputs)["out"]


MATRIX = np.random.default_rng(1).normal(size=(FEATURES, 4)).astype(np.float32)
VECTOR = np.random.default_rng(2).normal(size=4).astype(np.float32)
FACTORS = np.array([1.0, -2.0, 0.5], np.float32)
BY_KIND = np.random.default_rng(4).normal(size=(FEATURES, len(POD_KINDS))).astype(np.float32)
BIAS_BY_KIND = np.random.default_rng(5).normal(size=len(POD_KINDS)).astype(np.float32)
PER_NODE = [name for name in Inputs._fields if name not in ("preference", "pod_kind", "load")]


def by_loop(row: Callable[[Inputs, int], list[float]]) -> Callable[[Inputs], list[list[float]]]:
    return lambda inputs: [row(inputs, node) for node in range(len(inputs.rows))]


def columns_mean(rows: list[list[float]], weights: list[float]) -> list[float]:
    total = max(sum(weights), 1)
    return [sum(w * row[column] for w, row in zip(weights, rows, strict=True)) / total for column in range(FEATURES)]


def mean_zone_row(inputs: Inputs, node: int) -> list[float]:
    zone = inputs.zone[node]
    rows = inputs.rows.tolist()
    if zone == 0:
        return rows[node]
    return columns_mean(rows, [float(inputs.is_real[n] and inputs.zone[n] == zone) for n in range(len(rows))])


def mean_near_row(inputs: Inputs, node: int) -> list[float]:
    weights = [0.0] * NODES
    for other in range(NODES):
        zone = int(inputs.zone[other])
        if zone == 0 or not inputs.is_real[other]:
            continue
        # The last zone of these inputs is one that nobody has measured.
        measured = float(inputs.near[node, zone]) if zone < inputs.near.shape[1] else 0.0
        weights[other] = measured + float(zone == inputs.zone[node])
    if inputs.zone[node] == 0:
        weights[node] = 1.0
    return columns_mean(inputs.rows.tolist(), weights)


def mixed_score(row: Array, mix: Array, matrix: Array, vector: Array) -> float:
    """Weigh the scores by every set of weights."""
    by_set = row.astype(float) @ matrix.astype(float) + vector
    return sum(float(share) * float(score) for share, score in zip(mix, by_set, strict=True))


# A table of every state that three buckets for nodes and pods can make.
EDGES = np.array([-0.5, 0.5], np.float32)
KEYS = np.arange(3 ** (NODES + FEATURES - 1), dtype=np.int64)
VALUES = np.random.default_rng(3).normal(size=(len(KEYS), NODES + 1)).astype(np.float32)


def looked_up(inputs: Inputs) -> list[float]:
    buckets = [[sum(v >= edge for edge in EDGES.tolist()) for v in row] for row in inputs.rows.tolist()]
    digits = sorted(row[0] for row in buckets) + [max(row[f] for row in buckets) for f in range(1, FEATURES)]
    state = VALUES[sum(digit * 3**number for number, digit in enumerate(digits))].tolist()
    return [state[digits.index(row[0])] - state[-1] for row in buckets]


CASES: dict[str, tuple[tuple[str, ...], tuple[Array, ...], Callable[[Inputs], Any]]] = {
    "linear": (
        ("rows",),
        (MATRIX, VECTOR),
        by_loop(
            lambda i, n: [
                sum(float(i.rows[n, f]) * float(MATRIX[f, k]) for f in range(FEATURES)) + float(VECTOR[k])
                for k in range(4)
            ]
        ),
    ),
    "relu": (("rows",), (), by_loop(lambda i, n: [max(float(v), 0.0) for v in i.rows[n]])),
    "tanh": (("rows",), (), by_loop(lambda i, n: [np.tanh(float(v)) for v in i.rows[n]])),
    "add": (("rows", "prior"), (), by_loop(lambda i, n: [float(v) + float(i.prior[n, 0]) for v in i.rows[n]])),
    "scale": (
        ("rows",),
        (FACTORS,),
        by_loop(lambda i, n: [float(v) * float(f) for v, f in zip(i.rows[n], FACTORS, strict=True)]),
    ),
    "mixed": (
        ("rows", "pod_kind"),
        (BY_KIND, BIAS_BY_KIND),
        by_loop(lambda i, n: [mixed_score(i.rows[n], i.pod_kind, BY_KIND, BIAS_BY_KIND)]),
    ),
    "outer": (
        ("rows", "preference"),
        (),
        by_loop(lambda i, n: [float(v) * float(w) for v in i.rows[n] for w in i.preference]),
    ),
    "concat": (("rows", "preference", "prior"), (), by_loop(lambda i, n: [*i.rows[n], *i.preference, i.prior[n, 0]])),
    "mean_nodes": (("rows",), (), lambda i: columns_mean(i.rows.tolist(), i.is_real.astype(float).tolist())),
    "max_nodes": (("rows",), (), lambda i: [max(i.rows[n, f] for n in range(REAL_NODES)) for f in range(FEATURES)]),
    "mean_zone": (("rows",), (), by_loop(mean_zone_row)),
    "mean_near": (("rows",), (), by_loop(mean_near_row)),
    "mean_app": (("rows",), (), lambda i: columns_mean(i.rows.tolist(), np.where(i.is_real, i.app, 0).tolist())),
    "lookup": (("rows",), (KEYS, VALUES, EDGES), looked_up),
    "flatten": (("rows",), (), lambda i: [v for row in i.rows.tolist() for v in row]),
}
every_kind = pytest.mark.parametrize("kind", list(KINDS))
# Networks with these serve one size, and say so.
every_kind_for_any_size = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("flatten", "lookup")])
every_kind_but_flatten = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "flatten"])


def test_every_operation_has_its_case():
    assert set(CASES) == set(KINDS)


@every_kind
@settings(max_examples=20)
@given(seed=seeds)
def test_an_operation_is_what_a_plain_loop_computes(kind: str, seed: int):
    names, tensors, expected = CASES[kind]
    inputs = make_inputs(seed)
    np.testing.assert_allclose(value(kind, names, inputs, *tensors), expected(inputs), rtol=1e-5, atol=1e-5)


@every_kind
def test_numpy_and_jax_agree(kind: str):
    names, tensors, _ = CASES[kind]
    compiled = jax.jit(lambda inputs: value(kind, names, inputs, *tensors))
    for seed in range(20):
        inputs = make_inputs(seed)
        found = compiled(jax_arrays.to_jax(inputs))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, value(kind, names, inputs, *tensors), rtol=1e-5, atol=1e-5)


@every_kind
def test_numbers_stay_float32_in_numpy(kind: str):
    names, tensors, _ = CASES[kind]
    assert value(kind, names, make_inputs(0), *tensors).dtype == np.float32


@every_kind_for_any_size
@settings(max_examples=20)
@given(seed=seeds)
def test_padding_rows_never_matter(kind: str, seed: int):
    names, tensors, _ = CASES[kind]
    bare = make_inputs(seed, REAL_NODES, REAL_NODES)
    noise = make_inputs(seed + 1)
    padded = Inputs(
        *(
            np.concatenate([own, other[REAL_NODES:]]) if len(own) == REAL_NODES else own
            for own, other in zip(bare, noise, strict=True)
        )
    )
    found, want = value(kind, names, padded, *tensors), value(kind, names, bare, *tensors)
    np.testing.assert_allclose(found[:REAL_NODES] if found.ndim == 2 else found, want, rtol=1e-5, atol=1e-5)


@every_kind_but_flatten
@settings(max_examples=20)
@given(seed=seeds)
def test_nodes_in_another_order_give_the_same_values_in_that_order(kind: str, seed: int):
    names, tensors, _ = CASES[kind]
    inputs = make_inputs(seed)
    order = np.random.default_rng(seed).permutation(NODES)
    shuffled = inputs._replace(**{name: getattr(inputs, name)[order] for name in PER_NODE})
    found, want = value(kind, names, shuffled, *tensors), value(kind, names, inputs, *tensors)
    np.testing.assert_allclose(found, want[order] if len(want) == NODES else want, rtol=1e-5, atol=1e-5)


@every_kind
def test_a_cluster_without_nodes_gives_finite_values(kind: str):
    names, tensors, _ = CASES[kind]
    assert np.isfinite(value(kind, names, make_inputs(0, real=0), *tensors)).all()


def test_the_near_are_the_zone_where_nothing_was_measured():
    inputs = make_inputs(3)._replace(near=np.zeros((NODES, 0), np.float32))
    found, want = (value(kind, ("rows",), inputs) for kind in ("mean_near", "mean_zone"))
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_columns_for_zones_without_nodes_change_nothing():
    inputs = make_inputs(3)
    wide = inputs._replace(near=np.pad(inputs.near, [(0, 0), (0, NODES)], constant_values=0.5))
    # The column of the zone that `inputs` has nodes in and no latencies to stays unknown.
    wide.near[:, 3] = 0
    found, want = (value("mean_near", ("rows",), one) for one in (wide, inputs))
    np.testing.assert_allclose(found, want, rtol=1e-6)


def per_node_mixes() -> tuple[Array, Array]:
    draw = np.random.default_rng(6)
    return draw.normal(size=(FEATURES, FEATURES)).astype(np.float32), draw.normal(size=FEATURES).astype(np.float32)


@pytest.mark.parametrize("convert", [lambda inputs: inputs, jax_arrays.to_jax], ids=["numpy", "jax"])
def test_every_node_may_have_its_own_mix(convert: Callable[[Inputs], Inputs]):
    inputs, (matrix, vector) = make_inputs(0), per_node_mixes()
    found = value("mixed", ("rows", "rows"), convert(inputs), matrix, vector)
    want = [[mixed_score(row, row, matrix, vector)] for row in inputs.rows]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("convert", [lambda inputs: inputs, jax_arrays.to_jax], ids=["numpy", "jax"])
def test_a_value_of_the_cluster_is_mixed_for_every_node(convert: Callable[[Inputs], Inputs]):
    inputs = make_inputs(0)
    matrix, vector = np.ones((TERMS, FEATURES), np.float32), np.zeros(FEATURES, np.float32)
    found = value("mixed", ("preference", "rows"), convert(inputs), matrix, vector)
    want = inputs.preference.sum() * inputs.rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_outer_takes_values_of_the_cluster():
    inputs = make_inputs(0)
    found = value("outer", ("pod_kind", "preference"), inputs)
    np.testing.assert_array_equal(found.reshape(len(POD_KINDS), TERMS), np.outer(inputs.pod_kind, inputs.preference))


@pytest.mark.parametrize("kind", sorted(ROW_KINDS))
def test_an_operation_on_rows_does_not_look_at_other_nodes(kind: str):
    names, tensors, _ = CASES[kind]
    inputs = make_inputs(0)
    other = inputs._replace(**{name: getattr(make_inputs(1), name) for name in PER_NODE})
    other.rows[0], other.prior[0] = inputs.rows[0], inputs.prior[0]
    found, want = (value(kind, names, one, *tensors) for one in (other, inputs))
    np.testing.assert_allclose(found[0], want[0], rtol=1e-6)
    assert not np.allclose(found[1], want[1])


def test_values_of_the_cluster_go_side_by_side_without_nodes():
    inputs = make_inputs(0)
    assert value("concat", ("preference", "preference"), inputs).shape == (2 * TERMS,)


def test_linear_takes_a_value_of_the_cluster():
    inputs = make_inputs(0)
    matrix = np.ones((TERMS, 1), np.float32)
    found = value("linear", ("preference",), inputs, matrix, np.zeros(1, np.float32))
    np.testing.assert_allclose(found, [inputs.preference.sum()], rtol=1e-6)


def test_scores_come_as_one_number_per_node():
    ops = (Op("linear", ("rows",), "score", ("w", "b")),)
    tensors = {"w": np.ones((FEATURES, 1), np.float32), "b": np.zeros(1, np.float32)}
    assert forward(ops, tensors, make_inputs(0))["score"].shape == (NODES,)


def test_operations_go_on_from_what_is_known():
    ops = (Op("linear", ("kept",), "score", ("w", "b")),)
    tensors = {"w": np.ones((2, 1), np.float32), "b": np.ones(1, np.float32)}
    found = run(bind(ops, tensors), make_inputs(0), {"kept": np.ones((NODES, 2), np.float32)})
    assert found["score"].tolist() == [3.0] * NODES


def test_only_what_the_score_depends_on_is_needed():
    ops = (
        Op("relu", ("rows",), "hidden"),
        Op("mean_nodes", ("hidden",), "context"),
        Op("linear", ("context",), "value", ("vw", "vb")),
        Op("linear", ("hidden",), "score", ("w", "b")),
    )
    assert needed(ops) == (ops[0], ops[3])
    assert needed(ops, "context") == ops[:2]
    assert tensor_names(needed(ops)) == ("w", "b")


def test_tensors_that_are_shared_are_named_once():
    ops = (Op("linear", ("rows",), "a", ("w", "b")), Op("linear", ("rows",), "c", ("w", "b")))
    assert tensor_names(ops) == ("w", "b")


SCORE = Op("linear", ("rows",), "score", ("w", "b"))
TENSORS = {
    "w": np.zeros((FEATURES, 1), np.float32),
    "b": np.zeros(1, np.float32),
    "wide": np.zeros((FEATURES, 2), np.float32),
    "pair": np.zeros(2, np.float32),
}
WIDTHS = {"rows": FEATURES, "prior": 1, "preference": TERMS}


def test_a_network_that_fits_passes():
    check((Op("mean_nodes", ("rows",), "context"), SCORE), TENSORS, WIDTHS)


@pytest.mark.parametrize(
    ("ops", "want"),
    [
        pytest.param([Op("linear", (), "x", ("w", "b")), SCORE], "got 0 values", id="too few values"),
        pytest.param([Op("relu", ("rows", "rows"), "x"), SCORE], "got 2 values", id="too many values"),
        pytest.param([Op("add", (), "x"), SCORE], "expected one or more", id="nothing to add"),
        pytest.param([Op("linear", ("rows",), "x", ("w",)), SCORE], "1 tensors", id="too few tensors"),
        pytest.param([Op("relu", ("rows",), "x", ("w",)), SCORE], "1 tensors", id="too many tensors"),
        pytest.param([Op("relu", ("later",), "x"), SCORE], "reads `later`", id="unknown value"),
        pytest.param([Op("relu", ("score",), "x"), SCORE], "reads `score`", id="value written later"),
        pytest.param([Op("linear", ("rows",), "x", ("w", "c")), SCORE], "reads `c`", id="unknown tensor"),
        pytest.param([Op("relu", ("rows",), "rows"), SCORE], "which is an input", id="writes an input"),
        pytest.param([Op("linear", ("prior",), "x", ("w", "b")), SCORE], r"expected \(1, n\)", id="narrow value"),
        pytest.param([Op("linear", ("rows",), "x", ("w", "pair")), SCORE], r"and \(2,\)", id="bias of another width"),
        pytest.param([Op("linear", ("rows",), "x", ("b", "b")), SCORE], r"tensors \(1,\)", id="matrix that is none"),
        pytest.param(
            [Op("scale", ("rows",), "x", ("pair",)), SCORE], r"expected \(3,\)", id="factors of another width"
        ),
        pytest.param(
            [Op("mixed", ("rows", "pod_kind"), "x", ("wide", "pair")), SCORE], r"expected \(3, 9\)", id="sets of others"
        ),
        pytest.param(
            [Op("mixed", ("rows", "preference"), "x", ("wide", "b")), SCORE], r"and \(2,\)", id="bias of other sets"
        ),
        pytest.param(
            [*(Op("outer", ("rows" if i == 0 else f"x{i}", "rows"), f"x{i + 1}") for i in range(10)), SCORE],
            "expected at most",
            id="products too wide",
        ),
        pytest.param([Op("relu", ("rows",), "pod_kind"), SCORE], "which is an input", id="writes the pod's kind"),
        pytest.param([Op("relu", ("rows",), "load"), SCORE], "which is an input", id="writes the load"),
        pytest.param(
            [Op("relu", ("rows",), "a"), Op("tanh", ("a",), "a"), SCORE],
            "an operation before it writes",
            id="writes twice",
        ),
        pytest.param([Op("add", ("rows", "prior"), "x"), SCORE], "expected equal ones", id="sum of unequal widths"),
        *(
            pytest.param([Op(kind, ("preference",), "x"), SCORE], "expected one per node", id=f"{kind} of the cluster")
            for kind in ("mean_nodes", "max_nodes", "mean_zone", "mean_near", "mean_app", "flatten")
        ),
        pytest.param([Op("relu", ("rows",), "x")], "no operation writes `score`", id="no score"),
        pytest.param([Op("relu", ("rows",), "score")], "`score` of width 3", id="several scores per node"),
        pytest.param(
            [Op("concat", ("rows",) * (MAX_WIDTH // FEATURES + 1), "x"), SCORE], "expected at most", id="too wide"
        ),
    ],
)
def test_a_misfit_is_refused(ops: list[Op], want: str):
    with pytest.raises(InputError, match=want):
        check(ops, TENSORS, WIDTHS)


def test_weights_for_every_kind_of_pod_pass():
    tensors = {"weights": BY_KIND, "biases": BIAS_BY_KIND}
    check([Op("mixed", ("rows", "pod_kind"), "score", ("weights", "biases"))], tensors, WIDTHS)


def test_an_unknown_operation_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean `mean_nodes`"):
        check([Op("mean_node", ("rows",), "x"), SCORE], TENSORS, WIDTHS)


def test_what_flatten_makes_is_checked_where_the_size_is_known():
    ops = [Op("flatten", ("rows",), "all"), Op("linear", ("all",), "score", ("w", "b"))]
    tensors = {"w": np.zeros((4 * FEATURES, 4), np.float32), "b": np.zeros(4, np.float32)}
    check(ops, tensors, WIDTHS)
    check(ops, tensors, WIDTHS, num_nodes=4)
    with pytest.raises(InputError, match=r"expected \(15, n\)"):
        check(ops, tensors, WIDTHS, num_nodes=5)


def test_a_state_that_was_never_seen_scores_zero():
    found = value("lookup", ("rows",), make_inputs(0), np.array([-1], np.int64), VALUES[:1], EDGES)
    assert found.tolist() == [0.0] * NODES


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"keys": np.zeros(2, np.int64)}, r"expected \(n,\), \(n, m\)"),
        ({"values": np.zeros(1, np.float32)}, r"expected \(n,\), \(n, m\)"),
        ({"values": np.zeros((1, NODES), np.float32)}, f"width {NODES}, expected {NODES + 1}"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(changes: dict[str, Array], want: str):
    ops = [Op("lookup", ("rows",), "score", ("keys", "values", "edges"))]
    tensors = {"keys": KEYS[:1], "values": VALUES[:1], "edges": EDGES}
    check(ops, tensors, WIDTHS, num_nodes=NODES)
    with pytest.raises(InputError, match=want):
        check(ops, tensors | changes, WIDTHS, num_nodes=NODES)


MIX = Op("outer", ("pod_kind", "load"), "mix")
SCORED = Op("mixed", ("rows", "mix"), "score", ("w", "b"))


@pytest.mark.parametrize(
    ("ops", "want"),
    [
        ((MIX, SCORED), True),
        ((MIX, Op("outer", ("mix", "preference"), "all"), Op("mixed", ("rows", "all"), "score", ("w", "b"))), True),
        ((Op("outer", ("load", "load"), "mix"), SCORED), False),
        ((MIX, Op("mixed", ("rows", "mix"), "x", ("w", "b")), Op("relu", ("x",), "score")), False),
        ((MIX, Op("relu", ("mix",), "bent"), Op("mixed", ("rows", "bent"), "score", ("w", "b"))), False),
        ((Op("concat", ("rows", "load"), "all"), Op("linear", ("all",), "score", ("w", "b"))), False),
        ((Op("linear", ("rows",), "score", ("w", "b")),), False),
    ],
)
def test_it_is_known_where_a_score_is_a_sum_over_the_elements_of_a_value(ops: tuple[Op, ...], want: bool):
    assert is_linear_in("load", ops) == want


def test_a_value_that_is_no_number_is_no_warning() -> None:
    # NumPy would warn of it, and does so at times where all is in order, by what BLAS leaves in the processor's flags.
    endless = np.full((FEATURES, 4), np.inf, np.float32)
    inputs = make_inputs(0)._replace(rows=np.zeros((NODES, FEATURES), np.float32))
    assert np.isnan(value("linear", ("rows",), inputs, endless, VECTOR)).all()
