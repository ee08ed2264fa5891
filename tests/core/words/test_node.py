"""Nodes: hashable, and nothing is known until it is measured."""

import pytest

from longshore.core.words.node import Node, NodeReadings
from support.builders import make_node


def test_node_is_hashable_and_equal_by_value() -> None:
    one, other = (make_node("a").label("zone", "x").taint("dirty").image("app", 5).build() for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_node_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        make_node("a").build().name = "b"


def test_node_readings_are_unknown_until_measured() -> None:
    assert set(Node("a").readings) == {None, ()}
    assert NodeReadings(latency_ms=0.0).latency_ms == 0.0
