"""`longshore schedule` as a process: it schedules, answers Prometheus, stops in order, and says why it cannot start."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.store.reader import DecisionReader
from longshore_lab.cluster import LocalCluster


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["schedule", *arguments])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "kube-defautl"), "did you mean `kube-default`?"),
        (("--policy", "models/none"), "no policy and no folder"),
        (("--kubeconfig", "nowhere.yaml"), "nowhere.yaml"),
        (("--metrics-address", "9090"), "expected HOST:PORT"),
        (("--metrics-address", "127.0.0.1:x"), "expected HOST:PORT"),
        (("--metrics-tls-key", "tls.key"), "got one of `--metrics-tls-certificate` and `--metrics-tls-key`"),
        (("--metrics-authorize", "--metrics-address", "0.0.0.0:0"), "expected HTTPS for tokens"),
        (("--filters", "none"), "unknown filter set"),
        (("--lease-name", "A B/.."), "got `--lease-name A B/..`"),
        (("--scheduler-name", ""), "expected small letters"),
    ],
)
def test_what_cannot_serve_is_said_with_code_2(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


@contextmanager
def scheduling(
    cluster: LocalCluster, log: Path, *arguments: str, **environment: str
) -> Iterator["subprocess.Popen[str]"]:
    """Run the command in a process of its own; what it says goes to a file."""
    kubeconfig = str(cluster.kubeconfig_for("longshore-scheduler"))
    command = [sys.executable, "-m", "longshore_lab.proof.failpoints", "schedule"]
    command += ["--kubeconfig", kubeconfig, *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(command, stderr=output, stdout=output, text=True, env=os.environ | environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(log: Path, words: str, seconds: float = 30.0) -> str:
    ends = time.monotonic() + seconds
    while words not in log.read_text():
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.05)
    return next(line for line in log.read_text().splitlines() if words in line)


def create_pods(cluster: LocalCluster, namespace: str, scheduler: str, *names: str) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m"}}}
    spec = {"schedulerName": scheduler, "containers": [container]}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec} for name in names]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=content)


def nodes_of(cluster: LocalCluster, namespace: str) -> dict[str, str]:
    found = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-o", "json"))
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in found["items"]}


def wait_bound(cluster: LocalCluster, namespace: str, seconds: float = 30.0) -> dict[str, str]:
    ends = time.monotonic() + seconds
    while not all((found := nodes_of(cluster, namespace)).values()):
        assert time.monotonic() < ends, found
        time.sleep(0.1)
    return found


def test_a_process_schedules_counts_logs_and_stops_in_order(
    local_cluster: LocalCluster, cluster_namespace: str, tmp_path: Path
):
    name, log, store = f"ours-{cluster_namespace}", tmp_path / "log", tmp_path / "decisions.db"
    arguments = ("--scheduler-name", name, "--no-leader-elect", "--store", str(store))
    with scheduling(local_cluster, log, *arguments) as process:
        wait_for(log, "scheduling pods")
        create_pods(local_cluster, cluster_namespace, name, *(f"p{i}" for i in range(5)))
        nodes = wait_bound(local_cluster, cluster_namespace)
        address = wait_for(log, "metrics at").split()[-1]
        with urllib.request.urlopen(address) as page:
            shown = page.read().decode()
        assert f'scheduler_schedule_attempts_total{{profile="{name}",result="scheduled"}} 5.0' in shown
        with urllib.request.urlopen(address.replace("/metrics", "/readyz")) as page:
            assert page.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert "stopped; 5 pods bound" in log.read_text()
    reader = DecisionReader(str(store))
    records = reader.query(limit=10)
    reader.close()
    assert {record.pod_name: record.node for record in records} == nodes
    assert {record.outcome for record in records} == {"bound"}


def test_a_killed_process_leaves_nothing_unfinished_for_the_next(
    local_cluster: LocalCluster, cluster_namespace: str, tmp_path: Path
):
    name, log = f"ours-{cluster_namespace}", tmp_path / "log"
    arguments = ("--scheduler-name", name, "--no-leader-elect", "--store", "none")
    create_pods(local_cluster, cluster_namespace, name, *(f"p{i}" for i in range(8)))
    for point in ("during-relist", "after-assume", "before-bind", "after-bind:3"):
        with scheduling(local_cluster, log, *arguments, LONGSHORE_FAILPOINT=point) as process:
            assert process.wait(timeout=30) == -signal.SIGKILL
    before = {pod: node for pod, node in nodes_of(local_cluster, cluster_namespace).items() if node}
    assert before
    with scheduling(local_cluster, log, *arguments):
        after = wait_bound(local_cluster, cluster_namespace)
    assert len(after) == 8
    assert before.items() <= after.items()


def test_a_server_that_is_away_is_said_with_code_1(
    local_cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = json.loads(local_cluster.kubectl("config", "view", "--raw", "-o", "json"))
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    assert run("--kubeconfig", str(file), "--store", "none") == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
