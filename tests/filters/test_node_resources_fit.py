"""Tests of NodeResourcesFit: what fits, every shortage by its name, and what removing pods could mend."""

import pytest

from filters.judging import judge, reasons, refused
from longshore.filters.base import Rejection
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod

NAME = "NodeResourcesFit"
DONGLE = "example.com/dongle"
NODE = make_node("a").cpu("4").memory("8Gi").pods(2).resource("ephemeral-storage", "10Gi").resource(DONGLE, 2)
OLD = make_pod("old").cpu("3").memory("6Gi").resource("ephemeral-storage", "9Gi").resource(DONGLE, 1).on("a")


@pytest.mark.parametrize(
    ("pod", "want_reasons", "is_resolvable"),
    [
        pytest.param(make_pod("new").cpu("1001m"), ("Insufficient cpu",), True, id="a milli too much"),
        pytest.param(make_pod("new").memory("2049Mi"), ("Insufficient memory",), True, id="too much memory"),
        pytest.param(
            make_pod("new").resource("ephemeral-storage", "2Gi"),
            ("Insufficient ephemeral-storage",),
            True,
            id="too much storage",
        ),
        pytest.param(make_pod("new").resource(DONGLE, 2), (f"Insufficient {DONGLE}",), True, id="an extended resource"),
        pytest.param(
            make_pod("new").memory("3Gi").cpu("2"), ("Insufficient cpu", "Insufficient memory"), True, id="two at once"
        ),
        pytest.param(make_pod("new").cpu("5"), ("Insufficient cpu",), False, id="more than the whole node"),
        pytest.param(
            make_pod("new").resource("example.com/none", 1),
            ("Insufficient example.com/none",),
            False,
            id="a resource that the node does not have",
        ),
        pytest.param(
            make_pod("new").cpu("5").memory("3Gi"),
            ("Insufficient cpu", "Insufficient memory"),
            False,
            id="one of two that can never fit",
        ),
    ],
)
def test_every_shortage_is_named(pod: PodBuilder, want_reasons: tuple[str, ...], is_resolvable: bool) -> None:
    assert judge(NAME, NODE, OLD, pod) == {"a": Rejection(NAME, want_reasons, is_resolvable)}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("new").cpu("1").memory("2Gi").resource(DONGLE, 1), id="exactly what is left"),
        pytest.param(make_pod("new"), id="nothing"),
        pytest.param(make_pod("new").resource(DONGLE, 0), id="none of an extended resource"),
        pytest.param(make_pod("new").resource("example.com/none", 0), id="none of what the node does not have"),
    ],
)
def test_what_fits_is_allowed(pod: PodBuilder) -> None:
    assert refused(NAME, NODE, OLD, pod) == set()


def test_a_request_of_zero_fits_on_an_overcommitted_node() -> None:
    crowded = (make_node("a").cpu("1").memory("8Gi"), make_pod("old").cpu("3").on("a"))
    assert refused(NAME, *crowded, make_pod("new").memory("1Gi")) == set()
    assert refused(NAME, *crowded, make_pod("new").cpu("1m")) == {"a"}


def full_node() -> tuple[NodeBuilder, PodBuilder]:
    return make_node("a").cpu("4").pods(1), make_pod("old").cpu("3").on("a")


def test_a_node_has_room_for_so_many_pods() -> None:
    want = Rejection(NAME, ("Too many pods",), is_resolvable=True)
    assert judge(NAME, *full_node(), make_pod("new")) == {"a": want}


def test_too_many_pods_stands_before_the_resources() -> None:
    assert reasons(NAME, *full_node(), make_pod("new").cpu("2")) == {"a": ("Too many pods", "Insufficient cpu")}


def test_pods_that_wait_take_no_room() -> None:
    assert refused(NAME, NODE, make_pod("other").cpu("4"), make_pod("new").cpu("4")) == set()


def test_pods_on_other_nodes_take_no_room() -> None:
    assert refused(NAME, NODE, make_node("b"), OLD, make_pod("new").cpu("4")) == {"a"}
