"""Tests of `longshore record`: the file that it writes, and its options."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longshore.cli.record import parse_duration
from longshore.core.words.errors import InputError
from longshore.kube.trace_file import read_trace
from longshore_lab.cluster import LocalCluster

COMMAND = [sys.executable, "-c", "from longshore.cli.main import main; main()", "record"]


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60.0), ("90", 90.0), ("1.5m", 90.0), ("2h", 7200.0)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "0s", "5 minutes", "1d"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a time such as"):
        parse_duration(text)


def test_a_cluster_is_recorded_for_a_while(local_cluster: LocalCluster, cluster_namespace: str, tmp_path: Path) -> None:
    local_cluster.kubectl("run", "web", "-n", cluster_namespace, "--image=secret/image", "--env=TOKEN=hidden")
    out = tmp_path / "trace.jsonl"
    options = ["--for=1s", f"--namespace={cluster_namespace}", f"--kubeconfig={local_cluster.kubeconfig}", "--json"]
    done = subprocess.run([*COMMAND, f"--out={out}", *options], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["pods"], told["schema"]) == (1, 1)
    content = out.read_bytes()
    assert b"secret" not in content
    assert b"hidden" not in content
    trace = read_trace(content.splitlines())
    assert trace.end == pytest.approx(1.0, abs=0.5)
    assert {f"node-{number}" for number in range(5)} <= {node.name for node in trace.nodes}
