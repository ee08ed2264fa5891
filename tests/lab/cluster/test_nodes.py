"""Tests of KWOK node objects, and of counting those that take pods."""

from typing import Any

import msgspec
import pytest

from longshore_lab.cluster import nodes
from longshore_lab.cluster.state import ClusterOptions


class OneAnswer:
    """A client that gives the same list for every request."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self.items = items

    async def request(self, *_arguments: object, **_options: object) -> bytes:
        return msgspec.json.encode({"items": self.items})


def node(ready: str = "True", taints: list[dict[str, str]] | None = None) -> dict[str, Any]:
    conditions = [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": ready}]
    return {"spec": {"taints": taints or []}, "status": {"conditions": conditions}}


def test_names_sort_as_numbers() -> None:
    names = [content["metadata"]["name"] for content in nodes.kwok_nodes(ClusterOptions(nodes=101))]
    assert names[0] == "node-000"
    assert names == sorted(names)
    assert len(set(names)) == 101


def test_no_nodes_are_none() -> None:
    assert nodes.kwok_nodes(ClusterOptions(nodes=0)) == []


def test_zones_get_equal_shares() -> None:
    zones = [
        content["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for content in nodes.kwok_nodes(ClusterOptions(nodes=9))
    ]
    assert [zones.count(zone) for zone in nodes.ZONES] == [3, 3, 3]


def test_a_node_has_the_size_that_was_asked_for() -> None:
    (content,) = nodes.kwok_nodes(ClusterOptions(nodes=1, node_cpu="3500m", node_memory="2Gi", node_pods=7))
    assert content["status"]["allocatable"] == {"cpu": "3500m", "memory": "2Gi", "pods": "7"}
    assert content["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(node(), 1, id="ready"),
        pytest.param(node("False"), 0, id="not ready"),
        pytest.param(node("Unknown"), 0, id="unknown"),
        pytest.param(node(taints=[{"key": "node.kubernetes.io/not-ready"}]), 0, id="still tainted"),
        pytest.param(node(taints=[{"key": "mine"}]), 1, id="tainted by its owner"),
        pytest.param({}, 0, id="just created"),
    ],
)
async def test_a_node_counts_when_it_takes_pods(content: dict[str, Any], want: int) -> None:
    assert await nodes.count_ready(OneAnswer([content])) == want  # type: ignore[arg-type]
