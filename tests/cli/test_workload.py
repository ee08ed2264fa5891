"""Tests of `longshore workload run`: its result on stdout, its refusals, and Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from typer.testing import CliRunner

from longshore.cli.main import build_app
from longshore.core.words.errors import LongshoreError
from longshore_lab.cluster import LocalCluster

COMMAND = [sys.executable, "-c", "from longshore.cli.main import main; main()", "workload", "run"]
SMALL = ["--set", "cycles=1", "--set", "pods=3", "--scheduler-name", "default-scheduler", "--make-nodes"]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["workload", "run", *arguments])
    if isinstance(result.exception, LongshoreError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.stderr


def test_a_run_writes_its_result_and_shows_progress(local_cluster: LocalCluster, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    command = [*COMMAND, "test1", *SMALL, "--speed=20", f"--kubeconfig={local_cluster.kubeconfig}", f"--out={out}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_bytes())
    assert (result["schema"], result["workload"], result["policy"]) == (1, "test1", "default-scheduler")
    assert (result["live"]["created"], result["live"]["never_bound"]) == (3, 0)
    assert "hard_violations" in done.stdout
    assert "waiting_seconds_p50" in done.stdout
    assert "3 created, 3 bound, 0 pending" in done.stderr


def test_ctrl_c_clears_away_and_still_prints_the_result(local_cluster: LocalCluster) -> None:
    command = [*COMMAND, "test1", *SMALL, "--seed=7", f"--kubeconfig={local_cluster.kubeconfig}", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while "Running" not in local_cluster.kubectl("get", "pods", "-n", "longshore-workload-test1-7"):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert json.loads(out)["live"]["is_interrupted"] is True
    assert "stopping; what was made is deleted" in err
    assert "longshore-workload-test1-7" not in local_cluster.kubectl("get", "namespaces", "-o", "name")


def test_an_unknown_workload_is_refused() -> None:
    code, message = run("tset1")
    assert code == 2
    assert "did you mean `test1`?" in message


def test_nodes_are_not_made_in_somebody_s_cluster(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: 'https://other:6443'}}],"
        " users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}"
    )
    code, message = run("test1", "--make-nodes", f"--kubeconfig={path}")
    assert code == 2
    assert "`https://other:6443`, which is no cluster of `longshore cluster up`" in message


def test_an_output_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    code, message = run("test1", f"--out={tmp_path}")
    assert code == 2
    assert "cannot write" in message
