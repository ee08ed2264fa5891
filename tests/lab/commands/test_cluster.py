"""Tests of `longshore cluster`: what each command prints and how it ends."""

import json
import os
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longshore.cli.main import build_app
from longshore.core.words.errors import LongshoreError
from longshore.store.location import CACHE_VARIABLE
from longshore_lab.cluster import LocalCluster, cluster_names
from support.local_cluster import running_cluster


@pytest.fixture(scope="module")
def breakable(built_programs: None) -> Iterator[LocalCluster]:
    """Give a small cluster whose parts may be killed."""
    with running_cluster(nodes=1, has_scheduler=False) as cluster:
        yield cluster


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(build_app(), ["cluster", *arguments])
    if isinstance(result.exception, LongshoreError):
        return result.exception.exit_code, result.stdout, str(result.exception)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("built_programs")
def test_up_and_down_in_two_commands() -> None:
    name = f"test-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    code, out, err = run("up", "--name", name, "--nodes", "2", "--no-scheduler")
    assert code == 0
    assert out.startswith("export KUBECONFIG=")
    assert Path(out.partition("=")[2].strip()).is_file()
    assert "2 nodes are ready" in err
    assert run("down", "--name", name) == (0, "", f"the cluster `{name}` is down\n")
    assert name not in cluster_names()
    assert run("down", "--name", name) == (0, "", f"there was no cluster `{name}`\n")


def test_kubeconfig_prints_the_path_only(local_cluster: LocalCluster) -> None:
    assert run("kubeconfig", "--name", local_cluster.name) == (0, f"{local_cluster.kubeconfig}\n", "")


def test_status_shows_every_part(local_cluster: LocalCluster) -> None:
    code, out, _ = run("status", "--name", local_cluster.name)
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:]}
    assert {name: row[0] for name, row in rows.items()} == {part.name: "running" for part in local_cluster.status()}
    assert int(rows["kube-apiserver"][2]) == local_cluster.record.ports["kube-apiserver"]
    assert float(rows["kube-apiserver"][3]) > 50


def test_status_as_json(local_cluster: LocalCluster) -> None:
    code, out, _ = run("status", "--name", local_cluster.name, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["schema"] == 1
    assert answer["is_ready"] is True
    assert {part["state"] for part in answer["parts"]} == {"running"}


def test_a_dead_part_shows_its_log_and_ends_with_1(breakable: LocalCluster) -> None:
    pid = next(part.pid for part in breakable.status() if part.name == "kube-controller-manager")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while (answer := run("status", "--name", breakable.name))[0] == 0:
        assert time.monotonic() < deadline
    code, out, _ = answer
    assert code == 1
    assert "kube-controller-manager has died; the last lines of" in out
    assert "a part is dead" in next(line for line in run("list")[1].splitlines() if line.startswith(breakable.name))
    breakable.start_part("kube-controller-manager")
    assert run("status", "--name", breakable.name)[0] == 0


def test_reset_says_what_it_deleted(local_cluster: LocalCluster, cluster_namespace: str) -> None:
    label = "--labels=app.kubernetes.io/managed-by=longshore-workload"
    local_cluster.kubectl("-n", cluster_namespace, "run", "ours", "--image=none", label)
    code, out, _ = run("reset", "--name", local_cluster.name)
    assert (code, out.split()) == (0, ["kind", "deleted", "pods", "1"])
    assert run("reset", "--name", local_cluster.name) == (0, "", "no workload has left anything\n")


@pytest.mark.parametrize("command", ["status", "kubeconfig", "reset"])
def test_an_unknown_cluster_ends_with_2(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    code, _, err = run(command, "--name", "none")
    assert code == 2
    assert "unknown cluster `none`" in err


def test_no_clusters_name_the_command_that_starts_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert run("list") == (0, "", "no clusters; `longshore cluster up` starts one\n")


def test_a_broken_record_does_not_hide_the_other_clusters(local_cluster: LocalCluster) -> None:
    broken = local_cluster.folder.with_name(f"broken-{os.getpid()}")
    broken.mkdir()
    (broken / "cluster.json").write_text("{")
    try:
        code, out, err = run("list")
    finally:
        run("down", "--name", broken.name)
    assert code == 0
    assert local_cluster.name in out
    assert f"longshore cluster down --name {broken.name}" in err
