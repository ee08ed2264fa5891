"""Cases as real objects: what the API server writes itself is left out, what it insists on is there."""

from typing import Any

import pytest

from longshore_lab.oracle.cases import make_case
from longshore_lab.proof.live_case import (
    NOBODY,
    PRIORITIES,
    LiveCase,
    collection,
    live_case,
    path,
    surroundings,
    why_not_live,
    with_scheduler,
)


@pytest.fixture(scope="module")
def drawn() -> list[dict[str, Any]]:
    return [make_case(1, index) for index in range(400)]


@pytest.fixture(scope="module")
def cases(drawn: list[dict[str, Any]]) -> list[LiveCase]:
    return [live_case(case) for case in drawn]


def test_every_object_has_a_path(cases: list[LiveCase]) -> None:
    assert all(path(thing).startswith("/api") for case in cases for thing in case.objects)


def test_pods_come_last(cases: list[LiveCase]) -> None:
    for case in cases:
        kinds = [thing["kind"] for thing in case.objects]
        assert "Pod" not in kinds[: len(kinds) - kinds.count("Pod")]


def test_existing_pods_have_a_scheduler_that_does_not_exist(cases: list[LiveCase]) -> None:
    pods = [thing for case in cases for thing in case.objects if thing["kind"] == "Pod"]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {NOBODY}


def test_pods_carry_nothing_that_the_server_writes(cases: list[LiveCase]) -> None:
    for case in cases:
        for pod in (case.pod, *(thing for thing in case.objects if thing["kind"] == "Pod")):
            assert not pod["metadata"].keys() & {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"}
            assert "status" not in pod
            assert "priority" not in pod["spec"]


def test_a_priority_becomes_its_class(drawn: list[dict[str, Any]], cases: list[LiveCase]) -> None:
    pairs = [(case["pod"]["spec"].get("priority"), live.pod["spec"]) for case, live in zip(drawn, cases, strict=True)]
    assert {number for number, _ in pairs if number} == set(PRIORITIES)
    assert all(spec["priorityClassName"] == PRIORITIES[number] for number, spec in pairs if number)


def test_terminating_pods_are_deleted_after_they_were_created(
    drawn: list[dict[str, Any]], cases: list[LiveCase]
) -> None:
    wanted = sum("deletionTimestamp" in item["metadata"] for case in drawn for item in case["items"])
    assert wanted == sum(len(case.terminating) for case in cases) > 0


def test_a_status_that_counts_is_written(cases: list[LiveCase]) -> None:
    assert sum(len(case.statuses) for case in cases) > 0
    assert all("containerStatuses" in pod["status"] for case in cases for pod in case.statuses)


def test_controllers_have_templates_that_their_selectors_match(cases: list[LiveCase]) -> None:
    owners = [thing for case in cases for thing in case.objects if thing["kind"].endswith(("Set", "Controller"))]
    assert {owner["kind"] for owner in owners} == {"ReplicaSet", "StatefulSet", "ReplicationController"}
    for owner in owners:
        selector, labels = owner["spec"]["selector"], owner["spec"]["template"]["metadata"]["labels"]
        plain = selector if owner["kind"] == "ReplicationController" else selector.get("matchLabels", {})
        assert plain.items() <= labels.items()


def test_every_runtime_class_has_the_overhead_of_its_pods(cases: list[LiveCase]) -> None:
    num_pods = 0
    for case in cases:
        classes = {
            thing["metadata"]["name"]: thing.get("overhead", {}).get("podFixed", {})
            for thing in case.objects
            if thing["kind"] == "RuntimeClass"
        }
        for pod in (case.pod, *(thing for thing in case.objects if thing["kind"] == "Pod")):
            if "runtimeClassName" in pod["spec"]:
                num_pods += 1
                assert classes[pod["spec"]["runtimeClassName"]] == pod["spec"].get("overhead", {})
    assert num_pods > 0


def test_the_case_itself_is_not_changed() -> None:
    case = make_case(1, 3)
    live_case(case)
    assert case == make_case(1, 3)


def test_a_pod_with_a_node_is_no_case_for_a_scheduler(drawn: list[dict[str, Any]]) -> None:
    with_node = [case for case in drawn if case["pod"]["spec"].get("nodeName")]
    assert with_node
    assert all(why_not_live(case) for case in with_node)
    assert why_not_live(next(case for case in drawn if case not in with_node)) is None


def test_the_scheduler_is_named_in_a_copy() -> None:
    pod = {"kind": "Pod", "spec": {"a": 1}}
    assert with_scheduler(pod, "x")["spec"] == {"a": 1, "schedulerName": "x"}
    assert pod["spec"] == {"a": 1}


def test_what_all_cases_share_comes_in_an_order_that_works() -> None:
    paths = [where for where, _ in surroundings()]
    assert paths.index("/api/v1/namespaces") < paths.index("/api/v1/namespaces/edge/serviceaccounts")
    assert collection({"kind": "Pod", "metadata": {"namespace": "edge"}}) == "/api/v1/namespaces/edge/pods"
