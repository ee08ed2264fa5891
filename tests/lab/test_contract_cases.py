"""Random cases of the contract: repeatable, and answered as the rules say."""

from typing import Any

import pytest

from longshore.core.arrays.feature_table import FEATURES, PLUGIN
from longshore.core.network.bundle import Bundle
from longshore_lab.contract_cases import FIXED_NODES, PLUGIN_FEATURES, answer, make_case
from longshore_lab.speed.inference import random_bundle


@pytest.fixture
def policy() -> Bundle:
    return random_bundle(("node_cpu_used", "after_memory_used", "spread_crowding", "latency"))


def small_case(**pod: Any) -> dict[str, Any]:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        }
        for name in ("b", "a")
    ]
    waiting = {"metadata": {"name": "new", "namespace": "default"}, "spec": {"containers": [{"name": "main"}], **pod}}
    return {"id": 0, "pod": waiting, "items": nodes, "readings": {}}


def test_make_case_is_repeatable() -> None:
    assert make_case(3, 5) == make_case(3, 5)
    assert make_case(3, 5) != make_case(3, 6)


def test_make_case_has_the_fixed_size_now_and_then() -> None:
    nodes = [item for item in make_case(1, 4)["items"] if item["kind"] == "Node"]

    assert len(nodes) == FIXED_NODES


def test_plugin_features_are_those_of_the_table() -> None:
    assert tuple(feature.name for feature in FEATURES if PLUGIN in feature.where) == PLUGIN_FEATURES
    assert "next_cpu" not in PLUGIN_FEATURES


def test_answer_names_nodes_in_the_order_of_names(policy: Bundle) -> None:
    found = answer(small_case(), {"random": policy})

    assert found is not None
    assert found["nodes"] == found["feasible"] == ["a", "b"]
    assert found["choices"] == {"random": "a"}


def test_answer_reads_readings(policy: Bundle) -> None:
    found = answer(small_case() | {"readings": {"b": {"latency_ms": 25.0}}}, {"random": policy})

    assert found is not None
    assert found["features"]["latency"] == [0.0, 0.5]


def test_answer_leaves_columns_of_zeros_out(policy: Bundle) -> None:
    found = answer(small_case(), {"random": policy})

    assert found is not None
    assert "node_cpu_used" not in found["features"]


def test_answer_is_none_where_no_node_is_feasible(policy: Bundle) -> None:
    assert answer(small_case(nodeSelector={"disk": "none"}), {"random": policy}) is None
