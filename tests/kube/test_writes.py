"""What is written to the API server, byte for byte."""

import json
from typing import Any

import pytest

from longshore.kube import writes

NOW = 1_000_000.25
REPORTER = writes.Reporter("longshore", "longshore-host")


class Recorder:
    """Takes the place of a client and keeps what is asked of it."""

    def __init__(self, answer: bytes = b"{}") -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, Any, str]] = []

    async def request(
        self, method: str, path: str, *, body: Any = None, content_type: str = "application/json", **options: Any
    ) -> bytes:
        self.asked.append((method, path, json.loads(body) if isinstance(body, bytes) else body, content_type))
        return self.answer


@pytest.fixture
def client() -> Recorder:
    return Recorder()


async def test_bind_names_the_pod_by_its_uid(client: Recorder) -> None:
    await writes.bind(client, "team", "web", "u-1", "node-1")
    ((method, path, body, _),) = client.asked
    assert (method, path) == ("POST", "/api/v1/namespaces/team/pods/web/binding")
    assert body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", "namespace": "team", "uid": "u-1"},
        "target": {"kind": "Node", "name": "node-1"},
    }


async def test_bind_can_put_annotations_on_the_pod(client: Recorder) -> None:
    await writes.bind(client, "team", "web", "u-1", "node-1", {"longshore.dev/gpu-devices": "0,1"})
    assert client.asked[0][2]["metadata"]["annotations"] == {"longshore.dev/gpu-devices": "0,1"}


async def test_read_pod_gives_the_pod() -> None:
    client = Recorder(b'{"metadata":{"name":"web","uid":"u-1"},"spec":{"nodeName":"n"}}')
    found = await writes.read_pod(client, "team", "web")
    assert (found.metadata.uid, found.spec.node_name) == ("u-1", "n")
    assert client.asked[0][:2] == ("GET", "/api/v1/namespaces/team/pods/web")


async def test_conditions_are_patched_by_their_type(client: Recorder) -> None:
    condition = writes.Condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
    await writes.patch_pod_status(client, "team", "web", "u-1", [condition], now=NOW)
    ((method, path, body, content_type),) = client.asked
    assert (method, path) == ("PATCH", "/api/v1/namespaces/team/pods/web/status")
    assert content_type == "application/strategic-merge-patch+json"
    assert body == {
        "metadata": {"uid": "u-1"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available",
                    "lastTransitionTime": "1970-01-12T13:46:40Z",
                }
            ]
        },
    }


async def test_a_repeated_condition_keeps_its_time(client: Recorder) -> None:
    condition = writes.Condition("PodScheduled", "False", "Unschedulable", "", "1970-01-01T00:00:00Z")
    await writes.patch_pod_status(client, "team", "web", "u-1", [condition], now=NOW)
    assert client.asked[0][2]["status"]["conditions"][0]["lastTransitionTime"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(("nominated", "want"), [("n", {"nominatedNodeName": "n"}), ("", {"nominatedNodeName": None})])
async def test_nominated_node_is_written_or_taken_away(client: Recorder, nominated: str, want: dict[str, Any]) -> None:
    await writes.patch_pod_status(client, "team", "web", "u-1", nominated_node=nominated)
    assert client.asked[0][2]["status"] == want


async def test_delete_names_the_pod_by_its_uid(client: Recorder) -> None:
    await writes.delete_pod(client, "team", "web", "u-1")
    await writes.delete_pod(client, "team", "web", "u-1", grace_period_seconds=0)
    (method, path, body, _), (_, _, forced, _) = client.asked
    assert (method, path) == ("DELETE", "/api/v1/namespaces/team/pods/web")
    assert body["preconditions"] == {"uid": "u-1"}
    assert "gracePeriodSeconds" not in body
    assert forced["gracePeriodSeconds"] == 0


async def test_event_has_the_fields_of_upstreams(client: Recorder) -> None:
    pod = writes.pod_reference("team", "web", "u-1", "77")
    note = "Successfully assigned team/web to node-1"
    await writes.create_event(client, REPORTER, pod, "Scheduled", "Binding", note, now=NOW)
    ((method, path, body, _),) = client.asked
    assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/team/events")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web.{int(NOW * 1e9):x}", "namespace": "team"},
        "eventTime": "1970-01-12T13:46:40.250000Z",
        "reportingController": "longshore",
        "reportingInstance": "longshore-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "team",
            "name": "web",
            "uid": "u-1",
            "resourceVersion": "77",
        },
        "note": note,
        "type": "Normal",
    }


async def test_event_may_warn_and_name_another_object(client: Recorder) -> None:
    victim, winner = writes.pod_reference("team", "web", "u-1"), writes.pod_reference("team", "db", "u-2")
    await writes.create_event(
        client, REPORTER, victim, "Preempted", "Preempting", "by", is_warning=True, related=winner
    )
    body = client.asked[0][2]
    assert body["type"] == "Warning"
    assert body["related"]["uid"] == "u-2"


@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_notes_are_cut_at_what_the_server_takes(letter: str) -> None:
    cut = writes.truncated(letter * 2000)
    assert 1020 < len(cut.encode()) <= 1024
    assert cut.endswith(f"{letter} ...")
    assert writes.truncated("x" * 1024) == "x" * 1024


async def test_names_of_events_are_never_too_long(client: Recorder) -> None:
    await writes.create_event(client, REPORTER, writes.pod_reference("team", "w" * 253, "u"), "R", "A", "n")
    assert len(client.asked[0][2]["metadata"]["name"]) <= 253
