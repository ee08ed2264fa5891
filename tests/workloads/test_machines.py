"""Tests of the nodes that workloads make."""

from longshore.core.words.node import Taint
from longshore.kube import annotations
from longshore.workloads import machines
from longshore.workloads.machines import make_node, numbered, zone_latencies
from workloads.facts import shape


def test_annotations_have_the_names_that_are_read_from_clusters() -> None:
    ours = (machines.LATENCY_MS_ANNOTATION, machines.WATTS_ANNOTATION, machines.COST_ANNOTATION)
    assert ours == (annotations.LATENCY_MS, annotations.WATTS, annotations.COST_PER_HOUR)
    assert machines.CARBON_ANNOTATION == annotations.CARBON_GRAMS_PER_KWH
    assert machines.ZONE_LATENCY_MS_ANNOTATION == annotations.ZONE_LATENCY_MS


def test_a_node_has_its_name_as_a_label_and_its_figures_as_annotations() -> None:
    node = make_node("a", cpu=2, memory_mib=512, labels={"x": "y"}, latency_ms=7.5, watts=(1.0, 2.5), cost_per_hour=3.0)
    assert shape(node) == (2, 512, 110)
    assert dict(node.labels) == {"kubernetes.io/hostname": "a", "kubernetes.io/os": "linux", "x": "y"}
    assert (node.readings.latency_ms, node.power.watts_at_load, node.cost_per_hour) == (7.5, (1.0, 2.5), 3.0)
    assert sorted(text for _, text in node.annotations) == ["1,2.5", "3", "400", "7.5"]


def test_latencies_to_zones_are_readings_and_an_annotation() -> None:
    node = make_node("a", cpu=1, memory_mib=1, zone_latency_ms={"y": 1.8, "x": 0.4})
    assert node.readings.zone_latency_ms == (("x", 0.4), ("y", 1.8))
    assert dict(node.annotations)[annotations.ZONE_LATENCY_MS] == "x=0.4,y=1.8"


def test_zones_in_a_row_are_the_further_the_longer_the_way() -> None:
    assert zone_latencies("abcd", "b") == {"a": 1.8, "b": 0.4, "c": 1.8, "d": 3.1}


def test_a_plain_node_is_a_common_server_and_says_so() -> None:
    node = make_node("a", cpu=1, memory_mib=1, taints=(Taint("k"),))
    assert (node.readings.latency_ms, node.taints, node.assumed) == (None, (Taint("k"),), ())
    assert dict(node.annotations) == {
        annotations.CARBON_GRAMS_PER_KWH: "400",
        annotations.COST_PER_HOUR: "1",
        annotations.WATTS: "100,300",
    }


def test_numbered_names_sort_as_numbers_do() -> None:
    assert numbered("n", 3) == ["n-0", "n-1", "n-2"]
    assert numbered("n", 11)[9:] == ["n-09", "n-10"]
    assert numbered("n", 1001) == sorted(numbered("n", 1001))
