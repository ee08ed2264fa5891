"""Tests of bringing real clusters up and taking them down: nothing is left, whatever happened."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.core.words.errors import ComponentMissingError, InputError, LongshoreError, UnknownNameError
from longshore_lab.cluster import ClusterOptions, LocalCluster, cluster_names, down, find, lifecycle, processes, up
from longshore_lab.cluster.state import cluster_folder, clusters_folder
from support.local_cluster import running_cluster

PARTS = ["etcd", "kube-apiserver", "kube-controller-manager", "kwok", "kube-scheduler"]


@pytest.fixture(scope="module")
def other_cluster(built_programs: None) -> Iterator[LocalCluster]:
    """Give a second cluster beside the shared one, without a scheduler, for these tests to break."""
    with running_cluster(nodes=1, has_scheduler=False) as cluster:
        yield cluster


def pods_by_phase(cluster: LocalCluster, namespace: str) -> str:
    return cluster.kubectl("-n", namespace, "get", "pods", "-o", "jsonpath={.items[*].status.phase}")


def test_all_parts_run_and_all_nodes_take_pods(local_cluster: LocalCluster) -> None:
    assert [(part.name, part.state) for part in local_cluster.status()] == [(name, "running") for name in PARTS]
    ready = local_cluster.kubectl("get", "nodes", "--no-headers")
    assert [line.split()[1] for line in ready.splitlines()] == ["Ready"] * 5


def test_a_pod_is_placed_and_runs(local_cluster: LocalCluster, cluster_namespace: str) -> None:
    local_cluster.kubectl("-n", cluster_namespace, "run", "one", "--image=none")
    local_cluster.kubectl("-n", cluster_namespace, "wait", "pod/one", "--for=condition=Ready", "--timeout=30s")
    assert pods_by_phase(local_cluster, cluster_namespace) == "Running"


def test_a_deployment_gets_its_pods(local_cluster: LocalCluster, cluster_namespace: str) -> None:
    local_cluster.kubectl("-n", cluster_namespace, "create", "deployment", "web", "--image=none", "--replicas=3")
    local_cluster.kubectl("-n", cluster_namespace, "rollout", "status", "deployment/web", "--timeout=30s")
    assert pods_by_phase(local_cluster, cluster_namespace) == "Running Running Running"


def test_the_server_says_upstreams_version(local_cluster: LocalCluster) -> None:
    assert "Server Version: v1.36.3" in local_cluster.kubectl("version")


def test_the_schedulers_identity_can_place_pods_and_no_more(local_cluster: LocalCluster) -> None:
    kubeconfig = local_cluster.kubeconfig_for("longshore-scheduler")

    def may(*question: str) -> str:
        try:
            return local_cluster.kubectl("auth", "can-i", *question, "-A", f"--kubeconfig={kubeconfig}").strip()
        except LongshoreError:
            return "no"

    assert {may("list", "pods"), may("watch", "nodes"), may("create", "pods", "--subresource=binding")} == {"yes"}
    refused = [("get", "secrets"), ("update", "nodes"), ("patch", "pods"), ("create", "pods"), ("get", "leases")]
    assert [question for question in refused if may(*question) != "no"] == []


def test_an_unknown_service_account_names_those_that_are_there(local_cluster: LocalCluster) -> None:
    with pytest.raises(UnknownNameError, match="`longshore-scheduler`"):
        local_cluster.kubeconfig_for("nobody")


def test_two_clusters_know_nothing_of_each_other(local_cluster: LocalCluster, other_cluster: LocalCluster) -> None:
    assert {local_cluster.name, other_cluster.name} <= set(cluster_names())
    assert local_cluster.server != other_cluster.server
    assert other_cluster.kubectl("get", "nodes", "--no-headers").split()[0] == "node-0"
    with pytest.raises(LongshoreError, match="certificate"):
        other_cluster.kubectl("get", "nodes", f"--server={local_cluster.server}")


def test_a_cluster_that_runs_is_not_started_again(other_cluster: LocalCluster) -> None:
    with pytest.raises(LongshoreError, match=r"runs already\nhint: `longshore cluster down --name"):
        up(other_cluster.options)
    assert all(part.state == "running" for part in find(other_cluster.name).status())


def test_the_api_server_comes_back_on_the_same_port_with_everything(other_cluster: LocalCluster) -> None:
    other_cluster.kubectl("create", "namespace", "kept")
    other_cluster.restart_apiserver()
    assert "kept" in other_cluster.kubectl("get", "namespaces")


def test_a_second_scheduler_takes_the_pods_of_its_name(other_cluster: LocalCluster) -> None:
    other_cluster.start_scheduler("second", {"profiles": [{"schedulerName": "second"}]})
    pod = '{"spec": {"schedulerName": "second"}}'
    other_cluster.kubectl("run", "one", "--image=none", f"--overrides={pod}")
    other_cluster.kubectl("wait", "pod/one", "--for=condition=Ready", "--timeout=30s")
    other_cluster.stop_part("second")


def test_a_part_that_is_killed_shows_in_the_status(other_cluster: LocalCluster) -> None:
    part = next(part for part in other_cluster.status() if part.name == "kwok")
    assert part.pid is not None
    os.kill(part.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while (part := next(part for part in find(other_cluster.name).status() if part.name == "kwok")).state != "dead":
        assert time.monotonic() < deadline
    assert part.last_lines
    other_cluster.start_part("kwok")
    assert all(part.state != "dead" for part in other_cluster.status())


def test_down_leaves_no_process_and_no_file(built_programs: None) -> None:
    with running_cluster(nodes=1) as cluster:
        pids = [part.pid for part in cluster.status()]
        cluster.pause_part("etcd")
        assert down(cluster.name) is True
        assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
        assert processes.find_marked(cluster.folder) == []
        assert not cluster.folder.exists()
        assert down(cluster.name) is False


def test_a_start_that_fails_leaves_nothing_but_logs(
    built_programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lifecycle.parts, "stages_folder", lambda: tmp_path)
    name = f"test-{os.getpid()}-f"
    with pytest.raises(LongshoreError, match="kwok has ended; the last lines of its log"):
        up(ClusterOptions(name=name, nodes=1, has_scheduler=False))
    assert processes.find_marked(cluster_folder(name)) == []
    assert name not in cluster_names()
    assert not cluster_folder(name).exists()
    assert (clusters_folder() / f".{name}.logs" / "kwok.log").is_file()
    down(name)


def test_a_start_that_was_killed_half_way_is_cleared_away(built_programs: None) -> None:
    with running_cluster(nodes=1, has_scheduler=False) as cluster:
        (cluster.folder / "cluster.json").unlink()
        assert processes.find_marked(cluster.folder) != []
        assert down(cluster.name) is True
        assert processes.find_marked(cluster.folder) == []


@pytest.mark.usefixtures("own_cache")
def test_without_the_programs_the_command_that_builds_them_is_named() -> None:
    with pytest.raises(ComponentMissingError, match="make controlplane"):
        up()
    assert cluster_names() == []


def test_wrong_options_are_refused_before_anything_is_started() -> None:
    with pytest.raises(InputError, match="cluster name"):
        up(ClusterOptions(name="../x"))


@pytest.mark.usefixtures("own_cache")
def test_down_of_nothing_is_no_error() -> None:
    assert down("nothing") is False
