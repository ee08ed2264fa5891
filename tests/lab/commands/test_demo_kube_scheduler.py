"""Tests of `longshore demo-kube-scheduler`: the order of the runs and what is said, from a run made for real."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from longshore.cli.main import build_app
from longshore.core.words.errors import InputError
from longshore.live.workload.result import LiveResult, make_result
from longshore.policies.bundle_folder import read_folder, write_folder
from longshore_lab import live_demo, plugin_demo
from longshore_lab.commands import demo_kube_scheduler
from longshore_lab.proof.plugin_bundles import packing_bundle
from support.live_run import LiveRun


@pytest.fixture
def calls(live_run: LiveRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Stand in for the cluster, its kube-scheduler and the runs; note in which order they are asked for."""
    done: list[str] = []

    @contextmanager
    def cluster(name: str, tell: Any, *, has_scheduler: bool) -> Iterator[Any]:
        assert not has_scheduler
        done.append(f"up {name}")
        yield SimpleNamespace(folder=tmp_path)
        done.append("down")

    @contextmanager
    def ranking(_cluster: Any, bundle: Path) -> Iterator[str]:
        done.append(f"rank by {read_folder(bundle).name}")
        yield "process"

    class Accidents:
        before_the_kill = plugin_demo.Ranked(50, 0, 3)

        def __init__(self, process: str, bundle: Path, _tell: Any) -> None:
            assert process == "process"
            assert bundle.is_relative_to(tmp_path), "a copy is destroyed"

        def __enter__(self) -> Self:
            done.append("accidents")
            return self

        def __exit__(self, *_: object) -> None:
            done.append("over")

        def watch(self, _at: Any) -> None:
            raise AssertionError

    def run(
        _cluster: Any, demo: live_demo.Demo, profile: str, watch: Callable[[Any], None] | None = None
    ) -> LiveResult:
        done.append(f"{demo.workload} {profile}{'' if watch is None else ' watched'}")
        return make_result(live_run.observed, demo.workload, profile, "el-rl", 0, demo.speed)

    monkeypatch.setattr(live_demo, "empty_cluster", cluster)
    monkeypatch.setattr(plugin_demo, "ranking", ranking)
    monkeypatch.setattr(plugin_demo, "Accidents", Accidents)
    monkeypatch.setattr(plugin_demo, "ranked", lambda _: plugin_demo.Ranked(10, 10, 0))
    monkeypatch.setattr(demo_kube_scheduler, "run_demo", run)
    return done


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    write_folder(tmp_path / "own", packing_bundle())
    return str(tmp_path / "own")


def test_both_profiles_place_both_workloads_and_then_the_bundle_is_lost(calls: list[str], bundle: str) -> None:
    result = CliRunner().invoke(build_app(), ["demo-kube-scheduler", "--policy", bundle, "--name", "x"])
    assert result.exit_code == 0, result.stderr
    runs = ["test1 default-scheduler", "test1 longshore", "test2 default-scheduler", "test2 longshore"]
    assert calls == ["up x", "rank by packing", *runs, "accidents", "test1 longshore watched", "over", "down"]
    assert "50 pods ranked by the policy, 0 by upstream's scores" in result.stderr
    assert "10 of 10 pods ranked by upstream's scores" in result.stderr
    assert len(result.stdout.splitlines()) == 6


def test_json_has_all_runs_and_what_kube_scheduler_said(calls: list[str], bundle: str) -> None:
    result = CliRunner().invoke(build_app(), ["demo-kube-scheduler", "--policy", bundle, "--json"])
    found = json.loads(result.stdout)
    assert [one["live"]["scheduler_name"] for one in found["runs"]] == ["default-scheduler", "longshore"] * 2 + [
        "longshore"
    ]
    assert found["before_the_kill"] == {"pods": 50, "by_fallback": 0, "kept": 3}
    assert found["after_the_kill"]["by_fallback"] == 10


def test_a_bundle_that_cannot_be_used_is_refused_before_anything_starts(calls: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(build_app(), ["demo-kube-scheduler", "--policy", str(tmp_path / "none")])
    assert isinstance(result.exception, InputError)
    assert "does not exist, expected a bundle" in result.exception.message
    assert calls == []
