"""`bench cluster` and `bench scheduler`: a small run of every mode, their JSON and text, and that nothing is left."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore_lab import build
from longshore_lab.cluster import cluster_names
from longshore_lab.speed import cluster as cluster_speed
from longshore_lab.speed.cluster_metrics import Histogram
from longshore_lab.speed.cluster_modes import MODES
from longshore_lab.speed.cluster_run import Measurement

COMMAND = (sys.executable, "-c", "from longshore.cli.main import main; main()", "bench", "cluster")
STEPS = Histogram((0.001, 0.002, math.inf), (0, 100, 100))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[cluster_speed.SpeedOptions]:
    """Measure nothing; give a list of what was to be measured."""
    asked: list[cluster_speed.SpeedOptions] = []

    def measured(options: cluster_speed.SpeedOptions, _: object) -> list[Measurement]:
        asked.append(options)
        return [
            Measurement("stock", 10, 100, 2.0, 2.0, 0.1, 7, durations=STEPS),
            Measurement("plugin", 10, 100, 1.0, 1.0, 0.1, 7, durations=STEPS, rankings=STEPS),
        ]

    monkeypatch.setattr(cluster_speed, "measure_all", measured)
    return asked


@pytest.mark.usefixtures("built_programs")
def test_bench_scheduler_measures_every_mode(
    require_component: Callable[[str, str, bool], None], capsys: pytest.CaptureFixture[str]
):
    program = build.program_path("longshore-kube-scheduler")
    require_component(program.name, build.BUILD_COMMAND, program.is_file())
    # That each bound all its pods itself, ranked by what it was to rank with, is checked by the measurement.
    assert run("scheduler", "--nodes", "20", "--pods", "40", "--repeats", "1", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == 1
    cells = payload["cells"]
    assert [(cell["mode"], cell["nodes"], cell["pods"], cell["repeats"]) for cell in cells] == [
        (mode, 20, 40, 1) for mode in ("stock", "stock-sampled", "plugin", "plugin-fallback", "standalone")
    ]
    for cell in cells:
        assert set(cell) == {
            *("mode", "nodes", "pods", "pods_per_second", "decision_p50_ms", "decision_p99_ms", "repeats")
        }
        assert cell["pods_per_second"] > 0
        assert 0 < cell["decision_p50_ms"] <= cell["decision_p99_ms"]
    assert [(one["mode"], one["fallbacks"]) for one in payload["rankings"]] == [("plugin", 0), ("plugin-fallback", 40)]
    assert all(0 < one["prescore_p50_ms"] <= one["prescore_p99_ms"] for one in payload["rankings"])
    assert payload["rankings"][0]["cpu_p99_ms"] > 0
    assert [(pair["mode"], pair["against"]) for pair in payload["pairs"] if pair["against"] == "stock"] == [
        ("plugin", "stock"),
        ("plugin-fallback", "stock"),
        ("standalone", "stock"),
    ]


@pytest.mark.usefixtures("built_programs")
def test_bench_cluster_that_is_told_to_end_takes_its_cluster_down():
    process = subprocess.Popen(
        [*COMMAND, "--nodes", "3", "--pods", "30", "--repeats", "50"], stderr=subprocess.PIPE, text=True
    )
    name = f"speed-{process.pid}-3"
    try:
        assert process.stderr is not None
        told = ""
        while "\n1 of 100" not in told and (line := process.stderr.readline()):
            told += line
        assert "\n1 of 100" in told, told
        assert name in cluster_names()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.communicate()
    assert name not in cluster_names()


def test_bench_scheduler_by_default_measures_all_modes_in_seven_pairs(
    asked_for: list[cluster_speed.SpeedOptions], capsys: pytest.CaptureFixture[str]
):
    assert run("scheduler", "--bundle", "model") == 0
    assert asked_for == [
        cluster_speed.SpeedOptions((1000,), 3000, 7, MODES, "kube-default", Path("model")),
    ]
    told = capsys.readouterr().out
    assert "10 nodes: plugin 2.00 times stock (median of 2.00; least 2.00)" in told
    assert "prescore_p99_ms" in told


def test_bench_cluster_by_default_measures_ours_and_stock(asked_for: list[cluster_speed.SpeedOptions]):
    assert run("cluster", "--nodes", "10,20") == 0
    assert asked_for == [cluster_speed.SpeedOptions((10, 20), 3000, 5, ("stock", "standalone"))]


def test_bench_cluster_refuses_a_mode_that_there_is_not(capsys: pytest.CaptureFixture[str]):
    assert run("cluster", "--modes", "stock,swift") == 2
    assert "swift" in capsys.readouterr().err
