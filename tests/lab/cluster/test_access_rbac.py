"""`deploy/rbac.yaml` on a real API server: what the scheduler's identity may do, and that it may do nothing else."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import Forbidden
from longshore.kube.writes import bind
from longshore.live.api import answers, call, create_all, until
from longshore.scheduling.rights import EVICTION, Right, missing_rights, needed_rights
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.access import PLUGIN_ACCOUNT, longshore_rules, with_path

ACCOUNT, NAMESPACE, LEASE = "longshore-scheduler", "longshore-system", "longshore-scheduler"
MERGE = "application/merge-patch+json"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
async def ours(local_cluster: LocalCluster) -> AsyncIterator[Client]:
    """Give a client with the identity of the scheduler."""
    async with Client(load_identity(local_cluster.kubeconfig_for(ACCOUNT))) as client:
        yield client


@pytest.fixture
def waiting_pod(local_cluster: LocalCluster, cluster_namespace: str) -> dict[str, Any]:
    """Give a pod that no scheduler looks at."""
    container = {"name": "c", "image": "x"}
    spec = {"schedulerName": "nobody", "containers": [container]}
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": cluster_namespace}, "spec": spec}
    path = f"/api/v1/namespaces/{cluster_namespace}/pods"
    answer = call(local_cluster.kubeconfig, lambda client: client.request("POST", path, body=pod))
    made: dict[str, Any] = json.loads(answer)
    return made


async def test_the_plugin_has_the_rights_of_the_chart(local_cluster: LocalCluster) -> None:
    async with Client(load_identity(local_cluster.kubeconfig_for(PLUGIN_ACCOUNT))) as client:
        lease = (NAMESPACE, PLUGIN_ACCOUNT)
        claims = Right("update", "persistentvolumeclaims")
        assert await missing_rights(client, [*needed_rights(lease), EVICTION, claims]) == []
        refused = [Right("update", "pods"), Right("get", "secrets")]
        assert await missing_rights(client, refused) == refused


async def test_the_manifest_grants_all_that_the_scheduler_asks_for(ours: Client) -> None:
    assert await missing_rights(ours, [*needed_rights((NAMESPACE, LEASE)), EVICTION]) == []


async def test_the_manifest_grants_these_writes_and_no_others(ours: Client) -> None:
    """The API server's own list of all rules of the identity, so that one too many anywhere shows."""
    review = {"kind": "SelfSubjectRulesReview", "spec": {"namespace": NAMESPACE}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    rules = json.loads(await ours.request("POST", path, body=review))["status"]["resourceRules"]
    granted = {
        (verb, group, resource, tuple(rule.get("resourceNames", ())))
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if not resource.startswith("selfsubject")  # everybody may ask about himself
    }
    writes = {each for each in granted if each[0] not in ("get", "list", "watch")}
    events = {(verb, group, "events", ()) for verb in ("create", "patch") for group in ("", "events.k8s.io")}
    assert writes == events | {
        ("create", "", "pods/binding", ()),
        ("patch", "", "pods/status", ()),
        ("delete", "", "pods", ()),
        ("create", "coordination.k8s.io", "leases", ()),
        ("update", "coordination.k8s.io", "leases", (LEASE,)),
    }
    assert "*" not in {part for each in granted for part in each[:3]}
    assert not {each for each in granted if each[2] in ("secrets", "configmaps", "serviceaccounts")}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/secrets", None),
        ("GET", "/api/v1/namespaces/kube-system/secrets", None),
        ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/any", None),
        ("GET", "/api/v1/configmaps", None),
        ("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", None),
        ("GET", "/api/v1/serviceaccounts", None),
        ("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "x"}}),
        ("DELETE", "/api/v1/namespaces/default/pods", None),
        ("POST", "/api/v1/nodes", {"metadata": {"name": "x"}}),
        ("PUT", "/api/v1/nodes/node-0", {"metadata": {"name": "node-0"}}),
        ("PATCH", "/api/v1/nodes/node-0", {"spec": {"unschedulable": True}}),
        ("PATCH", "/api/v1/nodes/node-0/status", {"status": {"allocatable": {"cpu": "1"}}}),
        ("DELETE", "/api/v1/nodes/node-0", None),
        ("GET", "/api/v1/nodes/node-0/proxy/", None),
        ("DELETE", "/api/v1/namespaces/default", None),
        ("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}}),
        ("POST", f"{LEASES}/default/leases", {"metadata": {"name": "x"}}),
        ("GET", f"{LEASES}/{NAMESPACE}/leases", None),
        ("GET", f"{LEASES}/{NAMESPACE}/leases/other", None),
        ("PUT", f"{LEASES}/{NAMESPACE}/leases/other", {"metadata": {"name": "other"}}),
        ("DELETE", f"{LEASES}/{NAMESPACE}/leases/{LEASE}", None),
        ("PUT", f"{LEASES}/kube-node-lease/leases/node-0", {"metadata": {"name": "node-0"}}),
        ("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "x"}}),
        ("PATCH", f"{RBAC}/clusterroles/{ACCOUNT}", {"rules": []}),
        ("PATCH", f"{RBAC}/namespaces/{NAMESPACE}/roles/longshore-scheduler-lease", {"rules": []}),
        ("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token", {"spec": {}}),
        ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", {"metadata": {"name": "x"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_scheduler_may_not(ours: Client, method: str, path: str, body: Any) -> None:
    kind = MERGE if method == "PATCH" else "application/json"
    data = None if body is None else json.dumps(body).encode()
    with pytest.raises(Forbidden):
        await ours.request(method, path, body=data, content_type=kind)


async def test_the_scheduler_changes_no_pod_but_its_status(ours: Client, waiting_pod: dict[str, Any]) -> None:
    namespace, name = (waiting_pod["metadata"][key] for key in ("namespace", "name"))
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    label, phase = b'{"metadata":{"labels":{"a":"b"}}}', b'{"status":{"message":"x"}}'
    with pytest.raises(Forbidden):
        await ours.request("PATCH", path, body=label, content_type=MERGE)
    with pytest.raises(Forbidden):
        await ours.request("PUT", path, body=waiting_pod)
    for what in ("eviction", "exec", "ephemeralcontainers", "resize"):
        with pytest.raises(Forbidden):
            await ours.request("POST", f"{path}/{what}", body={"metadata": {"name": name}})
    await ours.request("PATCH", f"{path}/status", body=phase, content_type=MERGE)


async def test_nobody_else_can_be_played(ours: Client) -> None:
    rights = [
        Right("impersonate", "users"),
        Right("impersonate", "groups"),
        Right("escalate", "clusterroles", "rbac.authorization.k8s.io"),
        Right("bind", "clusterroles", "rbac.authorization.k8s.io"),
        Right("*", "*", "*"),
    ]
    assert await missing_rights(ours, rights) == rights


async def test_without_the_right_to_bind_nothing_is_bound(
    local_cluster: LocalCluster, waiting_pod: dict[str, Any], tmp_path: Path
) -> None:
    rules = _rules_for("cannot-bind")
    for role in (rule for rule in rules if rule["kind"] == "ClusterRole"):
        role["rules"] = [each for each in role["rules"] if each["resources"] != ["pods/binding"]]
    meta = waiting_pod["metadata"]
    async with Client(load_identity(_kubeconfig(local_cluster, rules, "cannot-bind", tmp_path))) as client:
        assert await missing_rights(client, needed_rights(None)) == [Right("create", "pods", subresource="binding")]
        with pytest.raises(Forbidden, match="pods/binding"):
            await bind(client, meta["namespace"], meta["name"], meta["uid"], "node-0")


async def test_without_the_role_of_preemption_no_pod_can_be_deleted(
    local_cluster: LocalCluster, waiting_pod: dict[str, Any], tmp_path: Path
) -> None:
    rules = [rule for rule in _rules_for("cannot-evict") if not rule["metadata"]["name"].endswith("-preemption")]
    meta = waiting_pod["metadata"]
    async with Client(load_identity(_kubeconfig(local_cluster, rules, "cannot-evict", tmp_path))) as client:
        assert await missing_rights(client, [*needed_rights(None), EVICTION]) == [EVICTION]
        with pytest.raises(Forbidden):
            await client.request("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")


def _rules_for(account: str) -> list[dict[str, Any]]:
    """Return the manifest's account and its cluster-wide rules under another name."""
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    rules = [rule for _, rule in longshore_rules() if rule["kind"] in kinds]
    renamed: list[dict[str, Any]] = json.loads(json.dumps(rules).replace(ACCOUNT, account))
    return renamed


def _kubeconfig(cluster: LocalCluster, rules: list[dict[str, Any]], account: str, folder: Path) -> Path:
    """Make an account with rules of its own, and a kubeconfig for it."""

    async def make(client: Client) -> None:
        for rule in rules:
            await create_all(client, [with_path(rule)])

    async def wait(client: Client) -> None:
        # The authorizer learns of new rules by a watch of its own.
        assert await until(lambda: answers(client, "/api/v1/nodes"), 20.0)

    call(cluster.kubeconfig, make)
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    token = cluster.kubectl("create", "token", account, "-n", NAMESPACE).strip()
    config["users"][0]["user"] = {"token": token}
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    call(file, wait)
    return file
