"""Tests of `longshore demo-cluster`: both schedulers' rows, from runs that other tests make for real."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from longshore.cli.main import build_app
from longshore.live.workload.result import LiveResult, make_result
from longshore_lab import live_demo
from longshore_lab.commands import demo_cluster
from support.live_run import LiveRun


@pytest.fixture
def calls(live_run: LiveRun, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for the cluster and the two runs; note in which order they are asked for."""
    done: list[str] = []

    @contextmanager
    def cluster(name: str, tell: Any) -> Iterator[str]:
        done.append(f"up {name}")
        yield name
        done.append("down")

    @contextmanager
    def scheduling(_cluster: str, policy: str) -> Iterator[None]:
        done.append(f"schedule {policy}")
        yield
        done.append("stop")

    def run(_cluster: str, _demo: live_demo.Demo, scheduler_name: str) -> LiveResult:
        done.append(f"run {scheduler_name}")
        result = make_result(live_run.observed, "test1", scheduler_name, "el-rl", 0, 10.0)
        return replace(result, waits=result.waits._replace(p50=0.25))

    monkeypatch.setattr(live_demo, "empty_cluster", cluster)
    monkeypatch.setattr(live_demo, "scheduling", scheduling)
    monkeypatch.setattr(demo_cluster, "run_demo", run)
    return done


def test_both_runs_happen_in_one_cluster_that_is_taken_down(calls: list[str]) -> None:
    result = CliRunner().invoke(build_app(), ["demo-cluster", "--policy", "best-fit", "--name", "x"])
    assert result.exit_code == 0, result.stderr
    assert calls == ["up x", "run default-scheduler", "schedule best-fit", "run longshore", "stop", "down"]
    header, stock, own = result.stdout.splitlines()
    assert "hard_violations" in header
    assert stock.startswith("kube-scheduler ")
    assert own.startswith("longshore (best-fit) ")
    assert own.rstrip().endswith("250 ms")


def test_json_has_both_runs(calls: list[str]) -> None:
    result = CliRunner().invoke(build_app(), ["demo-cluster", "--policy", "best-fit", "--json"])
    runs = json.loads(result.stdout)["runs"]
    assert [one["live"]["scheduler_name"] for one in runs] == ["default-scheduler", "longshore"]
