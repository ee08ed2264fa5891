"""Tests of reset on a real cluster: what workloads made goes, everything else stays."""

import json
import uuid
from collections.abc import Iterator

import pytest

from longshore.live.workload.objects import MANAGED_BY, WORKLOAD
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.reset import reset
from support.local_cluster import namespace_in

LABEL = f"{MANAGED_BY}={WORKLOAD}"


@pytest.fixture
def of_somebody(local_cluster: LocalCluster) -> Iterator[str]:
    """Give a namespace of somebody else, with a pod, a deployment and a service in it."""
    with namespace_in(local_cluster) as namespace:
        local_cluster.kubectl("-n", namespace, "run", "theirs", "--image=none")
        local_cluster.kubectl("-n", namespace, "create", "deployment", "theirs", "--image=none")
        local_cluster.kubectl("-n", namespace, "create", "service", "clusterip", "theirs", "--tcp=80")
        yield namespace


def names(cluster: LocalCluster, namespace: str, kind: str) -> list[str]:
    return cluster.kubectl("-n", namespace, "get", kind, "-o", "name").split()


def test_labelled_objects_go_and_others_stay(local_cluster: LocalCluster, of_somebody: str) -> None:
    kubectl = local_cluster.kubectl
    kubectl("-n", of_somebody, "run", "ours", "--image=none", f"--labels={LABEL}")
    kubectl("-n", of_somebody, "create", "deployment", "ours", "--image=none", "--replicas=2")
    kubectl("-n", of_somebody, "label", "deployment", "ours", LABEL)
    deleted = reset(local_cluster.kubeconfig)
    assert {kind: count for kind, count in deleted.items() if count} == {"deployments": 1, "pods": 1}
    assert names(local_cluster, of_somebody, "deployments") == ["deployment.apps/theirs"]
    assert names(local_cluster, of_somebody, "services") == ["service/theirs"]
    assert "pod/theirs" in names(local_cluster, of_somebody, "pods")
    assert "pod/ours" not in names(local_cluster, of_somebody, "pods")


def test_a_labelled_namespace_goes_with_all_that_is_in_it(local_cluster: LocalCluster, of_somebody: str) -> None:
    kubectl = local_cluster.kubectl
    name = f"ours-{uuid.uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    kubectl("-n", name, "create", "configmap", "unlabelled")
    kubectl("label", "namespace", name, LABEL)
    assert reset(local_cluster.kubeconfig)["namespaces"] == 1
    left = kubectl("get", "namespaces", "-o", "name")
    assert f"namespace/{name}" not in left
    assert f"namespace/{of_somebody}" in left


def test_nodes_that_a_workload_made_go_and_the_others_stay(local_cluster: LocalCluster) -> None:
    before = local_cluster.kubectl("get", "nodes", "-o", "name").split()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ours", "labels": {MANAGED_BY: WORKLOAD}}}
    local_cluster.kubectl("create", "-f", "-", stdin=json.dumps(node))
    assert reset(local_cluster.kubeconfig)["nodes"] == 1
    assert local_cluster.kubectl("get", "nodes", "-o", "name").split() == before


def test_cluster_wide_objects_go_too_and_nodes_stay(local_cluster: LocalCluster) -> None:
    name = f"ours-{uuid.uuid4().hex[:6]}"
    local_cluster.kubectl("create", "priorityclass", name, "--value=5")
    local_cluster.kubectl("label", "priorityclass", name, LABEL)
    assert reset(local_cluster.kubeconfig)["priorityclasses"] == 1
    assert "system-cluster-critical" in local_cluster.kubectl("get", "priorityclasses")
    assert len(local_cluster.kubectl("get", "nodes", "-o", "name").split()) == 5


def test_nothing_to_delete_is_no_error(local_cluster: LocalCluster) -> None:
    assert set(reset(local_cluster.kubeconfig).values()) == {0}
