"""Tests of what a pod's status adds to its requests: while a resize is under way, and only for a pod that runs."""

import json
from typing import Any

import msgspec
import pytest

from longshore.core.words.errors import ObjectError
from longshore.core.words.pod import Pod
from longshore.kube import convert, wire

MILLI, UNIT = 10**6, 10**9
GIB = 2**30


def read_pod(*, is_incoming: bool = False, **parts: Any) -> Pod:
    source = {"metadata": {"name": "p"}} | parts
    return convert.pod(msgspec.json.decode(json.dumps(source), type=wire.Pod), is_incoming=is_incoming)


INFEASIBLE = [{"type": "PodResizePending", "reason": "Infeasible"}]
DEFERRED = [{"type": "Ready", "reason": "Infeasible"}, {"type": "PodResizePending", "reason": "Deferred"}]


@pytest.mark.parametrize(
    ("wanted", "held", "allocated", "conditions", "want_millis"),
    [
        pytest.param("500m", "800m", None, [], 800, id="shrinking: it still holds more"),
        pytest.param("500m", "300m", "300m", [], 500, id="growing: it wants more"),
        pytest.param("500m", "300m", "700m", [], 700, id="promised more than it wants and has"),
        pytest.param("900m", "300m", "400m", INFEASIBLE, 400, id="a wish that can never be met does not count"),
        pytest.param("900m", "300m", "400m", DEFERRED, 900, id="a wish that is only put off counts"),
    ],
)
def test_a_resize_counts_the_most_of_wanted_held_and_promised(
    wanted: str, held: str, allocated: str | None, conditions: list[dict[str, str]], want_millis: int
) -> None:
    status = {"name": "c", "resources": {"requests": {"cpu": held}}}
    if allocated:
        status["allocatedResources"] = {"cpu": allocated}
    pod = read_pod(
        spec={"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": wanted}}}]},
        status={"containerStatuses": [status], "conditions": conditions},
    )
    assert pod.spec.containers[0].requests == (("cpu", want_millis * MILLI),)


def test_a_status_without_resources_changes_nothing() -> None:
    pod = read_pod(
        spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        status={"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "2"}}]},
    )
    assert pod.spec.containers[0].requests == (("cpu", UNIT),)


def test_a_status_adds_resources_that_the_container_does_not_name() -> None:
    status = {"name": "c", "resources": {"requests": {"memory": "1Gi"}}}
    pod = read_pod(spec={"nodeName": "a", "containers": [{"name": "c"}]}, status={"containerStatuses": [status]})
    assert pod.spec.containers[0].requests == (("memory", GIB * UNIT),)


def test_a_resize_counts_for_sidecars_and_not_for_other_init_containers() -> None:
    needs = {"resources": {"requests": {"cpu": "1"}}}
    held = {"resources": {"requests": {"cpu": "2"}}}
    pod = read_pod(
        spec={
            "nodeName": "a",
            "initContainers": [{"name": "side", "restartPolicy": "Always", **needs}, {"name": "once", **needs}],
        },
        status={"initContainerStatuses": [{"name": "side", **held}, {"name": "once", **held}]},
    )
    assert [container.requests for container in pod.spec.init_containers] == [(("cpu", 2 * UNIT),), (("cpu", UNIT),)]


def test_a_resize_of_the_whole_pod_counts_resources_that_it_asked_for() -> None:
    pod = read_pod(
        spec={"nodeName": "a", "resources": {"requests": {"cpu": "1"}}},
        status={"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}, "allocatedResources": {"cpu": "3"}},
    )
    assert pod.spec.pod_requests == (("cpu", 3 * UNIT),)


def test_a_whole_pods_infeasible_resize_counts_what_it_holds() -> None:
    pod = read_pod(
        spec={"nodeName": "a", "resources": {"requests": {"cpu": "9", "memory": "1Gi"}}},
        status={"resources": {"requests": {"cpu": "2"}}, "conditions": INFEASIBLE},
    )
    assert pod.spec.pod_requests == (("cpu", 2 * UNIT), ("memory", 0))


def test_a_bad_quantity_in_a_status_is_refused() -> None:
    status = {"name": "c", "resources": {"requests": {"cpu": "x"}}}
    with pytest.raises(ObjectError, match=r"status\.containerStatuses\.cpu"):
        read_pod(spec={"nodeName": "a", "containers": [{"name": "c"}]}, status={"containerStatuses": [status]})


@pytest.mark.parametrize("is_incoming", [False, True], ids=["without a node", "with a node in mind"])
def test_a_waiting_pods_status_does_not_count(is_incoming: bool) -> None:
    held = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
    needs = {"resources": {"requests": {"cpu": "1"}}}
    pod = read_pod(
        spec={
            **({"nodeName": "a"} if is_incoming else {}),
            **needs,
            "initContainers": [{"name": "side", "restartPolicy": "Always", **needs}],
            "containers": [{"name": "c", **needs}],
        },
        status={
            **held,
            "initContainerStatuses": [{"name": "side", **held}],
            "containerStatuses": [{"name": "c", **held}],
        },
        is_incoming=is_incoming,
    )
    parts = (pod.spec.pod_requests, pod.spec.containers[0].requests, pod.spec.init_containers[0].requests)
    assert parts == ((("cpu", UNIT),),) * 3
