"""Tests of the nodes that workloads make."""

from longshore.core.node import Taint
from longshore.kube import annotations
from longshore.workloads import machines
from longshore.workloads.machines import make_node, numbered
from workloads.facts import shape


def test_annotations_have_the_names_that_are_read_from_clusters() -> None:
    ours = (machines.LATENCY_MS_ANNOTATION, machines.WATTS_ANNOTATION, machines.COST_ANNOTATION)
    assert ours == (annotations.LATENCY_MS, annotations.WATTS, annotations.COST_PER_HOUR)


def test_a_node_has_its_name_as_a_label_and_its_figures_as_annotations() -> None:
    node = make_node("a", cpu=2, memory_mib=512, labels={"x": "y"}, latency_ms=7.5, watts=(1.0, 2.5), cost_per_hour=3.0)
    assert shape(node) == (2, 512, 110)
    assert dict(node.labels) == {"kubernetes.io/hostname": "a", "kubernetes.io/os": "linux", "x": "y"}
    assert (node.readings.latency_ms, node.power.watts_at_load, node.cost_per_hour) == (7.5, (1.0, 2.5), 3.0)
    assert sorted(text for _, text in node.annotations) == ["1,2.5", "3", "7.5"]


def test_a_plain_node_has_defaults_and_no_annotations() -> None:
    node = make_node("a", cpu=1, memory_mib=1, taints=(Taint("k"),))
    assert (node.annotations, node.readings.latency_ms, node.taints) == ((), None, (Taint("k"),))


def test_numbered_names_sort_as_numbers_do() -> None:
    assert numbered("n", 3) == ["n-0", "n-1", "n-2"]
    assert numbered("n", 11)[9:] == ["n-09", "n-10"]
    assert numbered("n", 1001) == sorted(numbered("n", 1001))
