"""The dumps among the examples are what their generator makes, and look like real ones."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from longshore.core.words.resources import amount, pod_requests
from longshore.kube.dump import read_dump

EXAMPLES = Path(__file__).parents[1] / "examples"
STYLES = ("eks", "kubeadm")


def made(style: str, nodes: int = 24) -> bytes:
    script = [sys.executable, str(EXAMPLES / "dumps" / "make.py"), style, "--nodes", str(nodes)]
    return subprocess.run(script, check=True, capture_output=True).stdout


def items(style: str, kind: str) -> list[dict[str, Any]]:
    found = json.loads((EXAMPLES / f"{style}.json").read_bytes())["items"]
    return [item for item in found if item["kind"] == kind]


@pytest.mark.parametrize("style", STYLES)
def test_the_dump_is_what_the_generator_makes(style: str) -> None:
    # `for s in eks kubeadm; do python examples/dumps/make.py $s > examples/$s.json; done`
    assert (EXAMPLES / f"{style}.json").read_bytes() == made(style)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("nodes", [1, 5, 60])
def test_a_dump_of_any_size_can_be_read(style: str, nodes: int) -> None:
    snapshot = read_dump(made(style, nodes), style).snapshot
    assert len(snapshot.nodes) >= nodes
    assert len([pod for pod in snapshot.pods if pod.bound_to]) > 4 * nodes


@pytest.mark.parametrize("style", STYLES)
def test_no_node_is_overfilled(style: str) -> None:
    snapshot = read_dump((EXAMPLES / f"{style}.json").read_bytes(), style).snapshot
    used: Counter[tuple[str, str]] = Counter()
    for pod in snapshot.pods:
        for name, wanted in pod_requests(pod.spec).amounts:
            used[pod.bound_to, name] += wanted
    have = {(node.name, name): amount(name, nanos) for node in snapshot.nodes for name, nanos in node.allocatable}
    assert used
    assert [key for key, wanted in used.items() if wanted > have.get(key, 0)] == []


def test_eks_has_what_clusters_there_have() -> None:
    nodes, pods = items("eks", "Node"), items("eks", "Pod")
    assert {node["metadata"]["labels"]["eks.amazonaws.com/capacityType"] for node in nodes} == {"SPOT", "ON_DEMAND"}
    assert len({node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in nodes}) == 4
    assert len({node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}) == 3
    owners = {owner["kind"] for pod in pods for owner in pod["metadata"]["ownerReferences"]}
    assert owners == {"DaemonSet", "ReplicaSet", "StatefulSet", "Job"}
    assert all("projected" in pod["spec"]["volumes"][0] for pod in pods)
    assert all(node["metadata"]["managedFields"] for node in nodes)
    assert {volume["spec"]["csi"]["driver"] for volume in items("eks", "PersistentVolume")} == {"ebs.csi.aws.com"}
    assert len(items("eks", "CSINode")) == len(nodes)
    assert items("eks", "HorizontalPodAutoscaler")
    assert items("eks", "Rollout")
    assert any(pod["status"]["phase"] == "Succeeded" for pod in pods)


def test_kubeadm_has_static_pods_and_volumes_on_disks() -> None:
    pods = items("kubeadm", "Pod")
    mirrors = [pod for pod in pods if "kubernetes.io/config.mirror" in pod["metadata"]["annotations"]]
    assert len(mirrors) == 4 * sum("master" in node["metadata"]["name"] for node in items("kubeadm", "Node"))
    assert all("local" in volume["spec"] for volume in items("kubeadm", "PersistentVolume"))
    assert any(not pod["metadata"]["ownerReferences"] for pod in pods)
