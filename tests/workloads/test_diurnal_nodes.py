"""Tests of the mixed machines."""

from longshore.workloads.diurnal_nodes import SHAPES, ZONE_LATENCY_MS, choose_shapes, make_nodes, zone_of
from longshore.workloads.draw import Draw


def test_six_nodes_have_every_zone_taint_and_disk() -> None:
    nodes = make_nodes(Draw("any", 0), 6, [])
    assert {zone_of(node) for node in nodes} == set(ZONE_LATENCY_MS)
    assert {taint.effect for node in nodes for taint in node.taints} == {"NoSchedule", "PreferNoSchedule"}
    assert {dict(node.labels)["disk"] for node in nodes} == {"ssd", "hdd"}


def test_power_curves_rise() -> None:
    for shape in SHAPES:
        assert list(shape.watts) == sorted(shape.watts)
        assert shape.watts[0] > 0


def test_latency_is_the_zones() -> None:
    for node in make_nodes(Draw("any", 1), 12, []):
        assert node.readings.latency_ms == ZONE_LATENCY_MS[zone_of(node)]


def test_the_own_zone_is_the_nearest() -> None:
    for node in make_nodes(Draw("any", 1), 6, []):
        found = dict(node.readings.zone_latency_ms)
        assert set(found) == set(ZONE_LATENCY_MS)
        assert min(found, key=lambda zone: found[zone]) == zone_of(node)


def test_some_images_are_present_already() -> None:
    nodes = make_nodes(Draw("any", 2), 30, ["a:1", "b:1"])
    assert {image.names for node in nodes for image in node.images} == {("a:1",), ("b:1",)}
    assert any(not node.images for node in nodes)


def test_shapes_are_chosen_by_name():
    assert [shape.name for shape in choose_shapes("old, small")] == ["old", "small"]


def test_no_names_choose_all_shapes():
    assert choose_shapes("") == SHAPES
