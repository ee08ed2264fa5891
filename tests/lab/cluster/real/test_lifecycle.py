"""Tests of real nodes for real: containers run and answer, and nothing of them is left on the machine."""

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longshore.core.words.errors import ComponentMissingError, InputError, LongshoreError
from longshore_lab.cluster import LocalCluster, down
from longshore_lab.cluster.real import cgroups, host, images, lifecycle
from support.local_cluster import running_cluster

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": images.image_name("responder"),
                "imagePullPolicy": "Never",
                "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}},
            }
        ],
    },
}


def is_able() -> bool:
    try:
        host.check_host()
    except LongshoreError:
        return False
    return True


@pytest.fixture(scope="module")
def cluster(built_programs: None, require_component: Callable[[str, str, bool], None]) -> Iterator[LocalCluster]:
    """Give a cluster with two real nodes and one KWOK node."""
    packages = " ".join(dict.fromkeys((*host.PACKAGES.values(), host.CNI_PACKAGE)))
    require_component("a container runtime, and root", f"apt-get install {packages}", is_able())
    with running_cluster(nodes=1, real_nodes=2) as cluster:
        yield cluster


def run_pod(cluster: LocalCluster, name: str, node: str) -> str:
    """Run a responder on a node and return its address."""
    pod = {**POD, "metadata": {"name": name}, "spec": {**POD["spec"], "nodeSelector": {"kubernetes.io/hostname": node}}}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    cluster.kubectl("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=60s")
    return cluster.kubectl("get", "pod", name, "-o", "jsonpath={.status.podIP}")


def answer(address: str) -> dict[str, str]:
    with urllib.request.urlopen(f"http://{address}:8080/", timeout=20) as response:
        result: dict[str, str] = json.load(response)
    return result


def left_on_the_machine(tag: str) -> list[str]:
    """Name everything that carries a cluster's tag."""
    left = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if tag in line]
    left += [str(path) for path in Path("/run").glob(f"*{tag}*")]
    left += [str(path) for path in Path("/sys/class/net").glob(f"*{tag}*")]
    left += [str(path) for tree in cgroups.hierarchies() for path in tree.glob(f"*{tag}*")]
    left += [line for line in host.run(["ip", "netns", "list"]).splitlines() if tag in line]
    return left


def test_real_and_kwok_nodes_live_in_one_cluster(cluster: LocalCluster) -> None:
    versions = cluster.kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
    assert sorted(versions.split()) == ["kwok", "v1.36.3", "v1.36.3"]


def test_a_container_on_each_real_node_answers_from_there(cluster: LocalCluster) -> None:
    for node in ("real-0", "real-1"):
        assert answer(run_pod(cluster, f"on-{node}", node)) == {"pod": f"on-{node}", "node": node}


def test_a_pod_of_a_kwok_node_is_no_container(cluster: LocalCluster) -> None:
    for name, node, runtime in (("on-kwok", "node-0", ""), ("on-real", "real-0", "containerd")):
        run_pod(cluster, name, node)
        path = "jsonpath={.status.containerStatuses[0].containerID}"
        assert cluster.kubectl("get", "pod", name, "-o", path).partition(":")[0] == runtime


def test_the_api_server_reaches_the_kubelet(cluster: LocalCluster) -> None:
    run_pod(cluster, "silent", "real-0")
    assert cluster.kubectl("logs", "silent") == ""


def test_a_node_offers_its_share_of_the_machine(cluster: LocalCluster) -> None:
    offered = cluster.kubectl("get", "node", "real-0", "-o", "jsonpath={.status.allocatable.cpu}")
    all_of_it = cluster.kubectl("get", "node", "real-0", "-o", "jsonpath={.status.capacity.cpu}")
    millis = int(offered[:-1]) if offered.endswith("m") else int(offered) * 1000
    assert millis == int(all_of_it) * 1000 // 2


def test_down_leaves_nothing_on_the_machine(cluster: LocalCluster) -> None:
    run_pod(cluster, "last", "real-1")
    tag = host.tag_of(cluster.folder)
    assert len(left_on_the_machine(tag)) > 5
    cluster.pause_part("kubelet-0")
    down(cluster.name)
    assert left_on_the_machine(tag) == []
    found = subprocess.run(["pgrep", "-f", f"longshore-{tag}|{cluster.folder}"], capture_output=True, check=False)
    assert found.stdout == b""


def test_too_many_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got --real-nodes 201, expected at most 200"):
        lifecycle.prepare(tmp_path, 201)


def test_a_machine_that_lacks_something_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ComponentMissingError, match="apt-get install"):
        lifecycle.prepare(tmp_path, 1)


def test_clearing_away_nothing_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    lifecycle.clear_away(tmp_path)
