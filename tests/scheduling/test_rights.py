"""Rights: what is asked for, and how what is missing is named."""

from typing import Any, cast

import msgspec

from longshore.scheduling.rights import EVICTION, MissingRightsError, Right, missing_rights, needed_rights


class Reviewer:
    """Grants all rights but some."""

    def __init__(self, *refused: tuple[str, str]) -> None:
        self.refused, self.asked = refused, []

    async def request(self, method: str, path: str, *, body: Any) -> bytes:
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        attributes = body["spec"]["resourceAttributes"]
        self.asked.append(attributes)
        allowed = (attributes["verb"], attributes["resource"]) not in self.refused
        return msgspec.json.encode({"status": {"allowed": allowed}})


async def test_every_right_is_asked_for_and_those_refused_come_back():
    reviewer = Reviewer(("list", "nodes"), ("delete", "pods"))
    rights = [*needed_rights(("ns", "lease")), EVICTION]
    missing = await missing_rights(cast("Any", reviewer), rights)
    assert missing == [Right("list", "nodes"), EVICTION]
    assert len(reviewer.asked) == len(rights)
    assert {"verb": "create", "resource": "pods", "group": "", "subresource": "binding"} in reviewer.asked
    lease = {"verb": "update", "resource": "leases", "group": "coordination.k8s.io", "namespace": "ns", "name": "lease"}
    assert lease in reviewer.asked


def test_without_an_election_no_lease_is_asked_for():
    assert not [right for right in needed_rights(None) if right.resource == "leases"]


def test_nothing_is_asked_for_that_a_scheduler_has_no_business_with():
    rights = needed_rights(("ns", "lease"))
    assert "secrets" not in {right.resource for right in rights}
    writes = {(right.verb, right.resource, right.subresource) for right in rights} - {
        (right.verb, right.resource, right.subresource) for right in rights if right.verb in ("get", "list", "watch")
    }
    assert writes == {
        ("create", "pods", "binding"),
        ("patch", "pods", "status"),
        ("create", "events", ""),
        ("create", "leases", ""),
        ("update", "leases", ""),
    }


def test_the_message_names_verb_resource_and_namespace():
    missing = [Right("patch", "pods", subresource="status"), Right("get", "leases", "coordination.k8s.io", "", "ns")]
    error = MissingRightsError(missing, "the kubeconfig")
    assert "`patch pods/status`, `get leases.coordination.k8s.io` in namespace `ns`" in str(error)
    assert error.exit_code == 1
