"""Rounds of pods for both schedulers: the same every time, in order, and with nothing that only one of them sees."""

import pytest

from longshore_lab.oracle.case_vocabulary import MISSING_NODE
from longshore_lab.proof.live_case import path
from longshore_lab.proof.same_nodes_round import Round, make_round

NUM_PODS = 8


@pytest.fixture(scope="module")
def rounds() -> list[Round]:
    return [make_round(1, index, NUM_PODS) for index in range(12)]


def test_a_round_is_the_same_every_time(rounds: list[Round]) -> None:
    assert make_round(1, 5, NUM_PODS) == rounds[5]


def test_rounds_differ(rounds: list[Round]) -> None:
    assert rounds[0].pods != rounds[1].pods


def test_pods_come_in_order_and_are_not_among_the_other_objects(rounds: list[Round]) -> None:
    for each in rounds:
        names = [pod["metadata"]["name"] for pod in each.pods]
        assert names == [f"same-{number}" for number in range(NUM_PODS)]
        assert not {thing["metadata"]["name"] for thing in each.objects.objects} & set(names)


def test_no_pod_names_its_node(rounds: list[Round]) -> None:
    assert not any(pod["spec"].get("nodeName") for each in rounds for pod in each.pods)


def test_no_object_is_there_twice(rounds: list[Round]) -> None:
    for each in rounds:
        paths = [path(thing) for thing in each.objects.objects]
        assert len(paths) == len(set(paths))


def test_nothing_runs_on_a_missing_node(rounds: list[Round]) -> None:
    assert not any(
        thing["spec"].get("nodeName") == MISSING_NODE
        for each in rounds
        for thing in each.objects.objects
        if thing["kind"] == "Pod"
    )


def test_one_node_at_least_is_named_in_the_readings(rounds: list[Round]) -> None:
    for each in rounds:
        nodes = {thing["metadata"]["name"] for thing in each.objects.objects if thing["kind"] == "Node"}
        assert nodes & each.readings.keys()


def test_constraints_and_own_annotations_are_drawn(rounds: list[Round]) -> None:
    pods = [pod for each in rounds for pod in each.pods]
    fields = {field for pod in pods for field in pod["spec"]}
    assert {"tolerations", "affinity", "topologySpreadConstraints", "priorityClassName"} <= fields
    notes = {name for pod in pods for name in pod["metadata"].get("annotations", {})}
    assert {"latencyHardConstraint", "longshore.dev/gpu-milli", "longshore.dev/gpu-count"} <= notes


def test_on_every_node_one_pod_at_most_holds_devices(rounds: list[Round]) -> None:
    holding = [
        (each.index, thing["spec"]["nodeName"])
        for each in rounds
        for thing in each.objects.objects
        if thing["kind"] == "Pod"
        and thing["spec"].get("nodeName")
        and any(key.startswith("longshore.dev/gpu-") for key in thing["metadata"].get("annotations", {}))
    ]
    assert len(holding) == len(set(holding)) > 0
