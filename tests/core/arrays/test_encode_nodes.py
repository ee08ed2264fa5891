"""Nodes as arrays: amounts, domains, ranks, devices, readings, power."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.arrays.cluster_arrays import NodeArrays
from longshore.core.arrays.encode_nodes import node_arrays, num_devices, reading_arrays
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.resources import CORE_RESOURCES
from support.builders import NodeBuilder, make_node, make_snapshot
from support.compiling import encode

WIDTH = 5


def compiled(*builders: object, keys: tuple[str, ...] = (), resources: tuple[str, ...] = CORE_RESOURCES) -> NodeArrays:
    nodes = [builder.build() for builder in builders]
    return node_arrays(nodes, {key: row for row, key in enumerate(keys)}, resources, WIDTH)


def test_amounts_are_milli_cpu_bytes_and_counts() -> None:
    node = make_node("a").cpu("1.5").memory("1Ki").resource("example.com/gpu", 4).pods(7)
    arrays = compiled(node, resources=(*CORE_RESOURCES, "example.com/gpu", "example.com/none"))
    assert arrays.allocatable[0].tolist() == [1500, 1024, 0, 4, 0]
    assert arrays.allowed_pods.tolist() == [7, 0, 0, 0, 0]


def test_amounts_are_rounded_up() -> None:
    assert compiled(make_node("a").cpu("0.5m").memory("1500m")).allocatable[0].tolist() == [1, 2, 0]


def test_rows_beyond_the_nodes_are_padding() -> None:
    arrays = compiled(make_node("a").gpu(1), make_node("b"), keys=("zone",))
    assert arrays.is_real.tolist() == [True, True, False, False, False]
    assert not arrays.allocatable[2:].any()
    assert not arrays.gpu_capacity[2:].any()
    assert (arrays.domain[:, 2:] == 0).all()


def test_padding_ranks_behind_every_name() -> None:
    arrays = compiled(make_node("b"), make_node("a"))
    assert arrays.name_rank[:2].tolist() == [1, 0]
    assert (arrays.name_rank[2:] > 1).all()


@given(st.lists(st.text("abz09-", min_size=1, max_size=3), min_size=1, max_size=WIDTH, unique=True))
def test_name_rank_is_the_place_in_the_order_of_names(names: list[str]) -> None:
    ranks = compiled(*map(make_node, names)).name_rank[: len(names)].tolist()
    assert [sorted(names)[rank] for rank in ranks] == names


def test_domain_is_zero_without_the_key_and_one_for_the_empty_value() -> None:
    arrays = compiled(
        make_node("a").label("zone", "x"),
        make_node("b"),
        make_node("c").label("zone", ""),
        make_node("d").label("zone", "y"),
        make_node("e").label("zone", "x"),
        keys=("zone",),
    )
    assert arrays.domain.tolist() == [[2, 0, 1, 3, 2]]


def test_domain_has_a_row_per_key() -> None:
    arrays = compiled(
        make_node("a").label("zone", "x").label("rack", "r"), make_node("b").label("rack", "s"), keys=("rack", "zone")
    )
    assert arrays.domain[:, :2].tolist() == [[2, 3], [2, 0]]


def test_domain_has_a_neutral_row_when_nobody_asks_for_a_key() -> None:
    assert compiled(make_node("a").label("zone", "x")).domain.tolist() == [[0] * WIDTH]


@given(st.lists(st.none() | st.sampled_from(["", "x", "y", "z", "w"]), min_size=1, max_size=WIDTH))
def test_domains_are_equal_where_the_values_are(values: list[str | None]) -> None:
    nodes = [make_node(f"n{i}") for i in range(len(values))]
    labelled = [node if value is None else node.label("zone", value) for node, value in zip(nodes, values, strict=True)]
    domain = compiled(*labelled, keys=("zone",)).domain[0]
    for i, one in enumerate(values):
        assert (domain[i] == 0) == (one is None)
        assert (domain[i] == 1) == (one == "")
        # The counting tables have room for the nodes and two more.
        assert domain[i] < WIDTH + 2
        for j, other in enumerate(values):
            assert (domain[i] == domain[j]) == (one == other)


def test_devices_are_as_many_as_the_node_with_most_has() -> None:
    nodes = [make_node("a").gpu(1, "T4"), make_node("b"), make_node("c").gpu(3, "A100")]
    arrays = compiled(*nodes)
    assert num_devices([node.build() for node in nodes]) == 3
    assert arrays.gpu_capacity[:3].tolist() == [[1000, 0, 0], [0, 0, 0], [1000, 1000, 1000]]


def test_no_devices_is_no_column() -> None:
    assert compiled(make_node("a")).gpu_capacity.shape == (WIDTH, 0)
    assert num_devices([]) == 0


def test_power_curves_are_brought_to_one_number_of_points() -> None:
    arrays = compiled(
        make_node("a").power(100.0, 300.0), make_node("b").power(50.0, 60.0, 90.0), make_node("c").power(70.0)
    )
    np.testing.assert_allclose(arrays.power_curve[:3], [[100, 200, 300], [50, 60, 90], [70, 70, 70]])
    assert not arrays.power_curve[3:].any()


def test_prices_and_carbon_are_copied() -> None:
    arrays = compiled(make_node("a").cost(2.5).carbon(80.0))
    assert arrays.cost_per_hour.tolist() == [2.5, 0, 0, 0, 0]
    assert arrays.carbon_grams_per_kwh.tolist() == [80.0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("reading", "value", "known"),
    [
        ("latency_ms", "latency_ms", "latency_known"),
        ("connections", "connections", "connections_known"),
        ("traffic_bytes_per_second", "traffic", "traffic_known"),
        ("cpu_ratio", "cpu_ratio", "cpu_known"),
        ("watts", "watts", "watts_known"),
    ],
)
def test_readings_know_zero_from_unknown(reading: str, value: str, known: str) -> None:
    nodes = [make_node("a").readings(**{reading: 0.0}), make_node("b").readings(**{reading: 0.75}), make_node("c")]
    readings = reading_arrays([node.build() for node in nodes], WIDTH)
    assert getattr(readings, value).tolist() == [0.0, 0.75, 0.0, 0.0, 0.0]
    assert getattr(readings, known).tolist() == [True, True, False, False, False]
    others = [name for name in readings._fields if name.endswith("_known") and name != known]
    assert not any(getattr(readings, name).any() for name in others)


def in_zone(name: str, zone: str | None, **latencies: float) -> NodeBuilder:
    node = make_node(name) if zone is None else make_node(name).label(ZONE_KEY, zone)
    return node.readings(zone_latency_ms=tuple(latencies.items()))


def test_nearness_stands_in_the_columns_of_the_zones() -> None:
    nodes = [in_zone("a", "x", x=0.5, y=5.0), in_zone("b", "y", x=20.0), in_zone("c", None, y=0.0), in_zone("d", "z")]
    arrays = encode(make_snapshot(*nodes)).arrays
    zone, near = arrays.nodes.zone, arrays.readings.zone_near
    assert near.dtype == np.float32
    x, y, z = zone[[0, 1, 3]]
    np.testing.assert_allclose(near[:, [x, y]], [[0, 0.5], [0.2, 0], [0, 1], [0, 0]])
    assert near.sum() == near[:, [x, y]].sum() and near.shape[1] <= z  # nobody has measured the way to z


def test_nearness_needs_no_room_where_nobody_measures() -> None:
    for node in (in_zone("a", "x"), in_zone("a", "x", x=1.0), in_zone("a", "x", nowhere=1.0), in_zone("a", None)):
        assert reading_arrays([node.build()], WIDTH).zone_near.shape == (WIDTH, 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -1.0])
def test_latencies_to_zones_that_are_no_numbers_are_not_known(value: float) -> None:
    nodes = [in_zone("a", "x", y=value, z=5.0), in_zone("b", "y"), in_zone("c", "z")]
    assert reading_arrays([node.build() for node in nodes], WIDTH).zone_near.sum() == 0.5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_readings_that_are_no_numbers_are_not_known(value: float) -> None:
    readings = reading_arrays([make_node("a").readings(latency_ms=value, cpu_ratio=0.5).build()], WIDTH)
    assert (readings.latency_ms[0], readings.latency_known[0]) == (0.0, False)
    assert (readings.cpu_ratio[0], readings.cpu_known[0]) == (0.5, True)


def test_no_nodes_are_all_padding() -> None:
    arrays = compiled()
    assert not arrays.is_real.any()
    assert arrays.power_curve.shape == (WIDTH, 2)
    assert not reading_arrays([], WIDTH).latency_known.any()
