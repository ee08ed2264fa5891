"""Which changes wake which pods."""

from dataclasses import replace

import pytest

from longshore import filters
from longshore.core.words.happening import Happening
from longshore.core.words.node import NodeReadings
from longshore.deciding.helping import UNSUPPORTED, could_help, node_happening
from support.builders import make_node

NODE = make_node("a").cpu("4").build()


@pytest.mark.parametrize("name", [*filters.REGISTRY.table, ""])
def test_a_new_node_helps_whatever_was_rejected(name: str):
    assert could_help(Happening.NODE_ADDED, name)


def test_a_deleted_pod_frees_room_ports_and_devices_and_changes_counts():
    helped = {name for name in filters.UPSTREAM if could_help(Happening.POD_DELETED, name)}
    assert helped == {"NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "GpuDevices"}


def test_what_no_filter_answers_for_is_helped_by_everything():
    assert could_help(Happening.CONTEXT, "NobodysFilter")


def test_an_unsupported_field_is_not_helped_by_nodes_coming_and_pods_going():
    assert not could_help(Happening.NODE_ADDED | Happening.POD_DELETED, UNSUPPORTED)
    assert could_help(Happening.STORAGE, UNSUPPORTED)


@pytest.mark.parametrize(
    ("after", "want"),
    [
        (NODE, Happening.NOTHING),
        (replace(NODE, annotations=(("note", "x"),)), Happening.NOTHING),
        (replace(NODE, allocatable=(("cpu", 1),)), Happening.NODE_ALLOCATABLE),
        (replace(NODE, labels=(("a", "b"),)), Happening.NODE_LABELS),
        (replace(NODE, is_unschedulable=True), Happening.NODE_TAINTS),
        (replace(NODE, readings=NodeReadings(latency_ms=1.0)), Happening.NODE_LATENCY),
        (replace(NODE, readings=NodeReadings(watts=1.0)), Happening.NOTHING),
        (replace(NODE, labels=(("a", "b"),), gpu_count=2), Happening.NODE_LABELS | Happening.NODE_DEVICES),
        (None, Happening.NODE_DELETED),
    ],
)
def test_a_changed_node_says_what_changed(after: object, want: Happening):
    assert node_happening(NODE, after) == want  # type: ignore[arg-type]


def test_a_node_that_was_not_there_is_new():
    assert node_happening(None, NODE) is Happening.NODE_ADDED
