"""Requests are told apart as the API server's access rules tell them."""

import pytest

from longshore_lab.proof.api_call import ApiCall, Calls, read_call

WATCH = {"watch": "1"}


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", {}, ApiCall("list", "pods")),
        ("GET", "/api/v1/pods", WATCH, ApiCall("watch", "pods")),
        ("GET", "/api/v1/pods", {"watch": "false"}, ApiCall("list", "pods")),
        ("GET", "/api/v1/namespaces/a/pods/p", {}, ApiCall("get", "pods", "", "a", "p")),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", {}, ApiCall("create", "pods", "binding", "a", "p")),
        ("PATCH", "/api/v1/namespaces/a/pods/p/status", {}, ApiCall("patch", "pods", "status", "a", "p")),
        ("DELETE", "/api/v1/namespaces/a/pods", {}, ApiCall("deletecollection", "pods", "", "a")),
        ("DELETE", "/api/v1/namespaces/a", {}, ApiCall("delete", "namespaces", "", "", "a")),
        ("PUT", "/api/v1/namespaces/a/finalize", {}, ApiCall("update", "namespaces", "finalize", "", "a")),
        ("GET", "/api/v1/namespaces", WATCH, ApiCall("watch", "namespaces")),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/l",
            {},
            ApiCall("update", "leases", "", "a", "l"),
        ),
        ("GET", "/apis/apps/v1/replicasets", WATCH, ApiCall("watch", "replicasets")),
        ("GET", "/readyz", {}, ApiCall("list")),
    ],
    ids=str,
)
def test_a_request_is_read(method: str, path: str, query: dict[str, str], expected: ApiCall) -> None:
    assert read_call(method, path, query) == expected


BINDING = ApiCall("create", "pods", "binding", "a", "p")


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (Calls(), True),
        (Calls(("create", "get")), True),
        (Calls(("get",)), False),
        (Calls(resource="pods"), True),
        (Calls(resource="nodes"), False),
        (Calls(subresource="binding"), True),
        (Calls(subresource=""), False),
    ],
    ids=str,
)
def test_requests_are_meant_by_verb_resource_and_subresource(calls: Calls, expected: bool) -> None:
    assert calls.has(BINDING) is expected
