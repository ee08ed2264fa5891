"""`longshore bench`: the shape of its JSON and its exit codes; the figures themselves are not for a test."""

import json
from collections.abc import Callable

import pytest

from longshore.cli.main import main
from longshore_lab import build
from longshore_lab.build import program_path
from longshore_lab.oracle import proof
from longshore_lab.speed import training as training_speed


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def needs_oracle(require_component):
    require_component("oracle", "make controlplane", program_path("oracle").is_file())


@pytest.mark.usefixtures("needs_oracle")
def test_bench_oracle_reports_cases_and_differences(capsys: pytest.CaptureFixture[str]):
    assert run("oracle", "--cases", "20", "--seed", "7", "--workers", "1", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert {key: payload[key] for key in ("schema", "upstream", "cases", "differences", "first_difference")} == {
        "schema": 1,
        "upstream": "v1.36.3",
        "cases": 20,
        "differences": 0,
        "first_difference": None,
    }
    assert payload["cases_per_second"] > 0


def test_bench_oracle_fails_on_a_difference(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    found = proof.Difference(3, "node `a`: ours otherwise", "case 3")
    monkeypatch.setattr(proof, "prove", lambda *_: proof.ProofResult(10, 1, found, 1.0))
    assert run("oracle", "--cases", "10", "--json") == 1
    assert json.loads(capsys.readouterr().out)["first_difference"]["index"] == 3


@pytest.mark.usefixtures("needs_oracle")
def test_bench_semantics_puts_both_times_beside_each_other(capsys: pytest.CaptureFixture[str]):
    assert run("semantics", "--nodes", "10", "--repeats", "3", "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["pod"] for cell in cells} == {"plain", "node-affinity", "spread", "inter-pod", "everything"}
    assert all(cell["nodes"] == 10 and cell["ours_ms"] > 0 and cell["upstream_ms"] > 0 for cell in cells)


def finished_races(*_arguments: object, **_options: object) -> list[training_speed.Race]:
    return [
        training_speed.Race("test1", "dqn", 0, 10.0, 10_240, 118.6, True, 10.0, 50_000.0),
        training_speed.Race("test1", training_speed.PLAIN, 0, 600.0, 500_000, 110.0, False, None, 833.0),
    ]


def test_bench_training_reports_every_race_and_the_ratio(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(training_speed, "race", finished_races)
    assert run("training", "--workload", "test1", "--limit-seconds", "90", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    goal = {"workload": "test1", "objective": "el-rl", "target": 117.4, "nodes": 0, "limit_seconds": 90.0}
    assert payload["goals"] == [goal | {"guide": "", "network": "deepsets"}]
    assert [race["trainer"] for race in payload["races"]] == ["dqn", training_speed.PLAIN]
    (compared,) = payload["compared"]
    assert compared["ratio"] == pytest.approx(10 / 600)
    assert compared["is_upper_bound"] is True


def test_bench_training_without_a_workload_goes_for_every_goal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def race(goal: training_speed.Goal, *_arguments: object, **_options: object) -> list[training_speed.Race]:
        return [one._replace(workload=goal.workload) for one in finished_races()]

    monkeypatch.setattr(training_speed, "race", race)
    assert run("training", "--json") == 0
    compared = json.loads(capsys.readouterr().out)["compared"]
    assert [one["workload"] for one in compared] == [goal.workload for goal in training_speed.GOALS]


def test_bench_training_races_those_that_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    asked = []

    def race(goal: training_speed.Goal, seeds: range, trainers: list[str], **_options: object):
        asked.append((goal.guide, seeds, trainers))
        return finished_races()

    monkeypatch.setattr(training_speed, "race", race)
    named = (
        "--workload",
        "test1",
        "--guide",
        "energy-latency",
        "--trainers",
        "imitation, cleanrl-style dqn",
        "--first-seed",
        "3",
    )
    assert run("training", *named, "--json") == 0
    assert asked == [("energy-latency", range(3, 4), ["imitation", training_speed.PLAIN])]


@pytest.mark.parametrize(("name", "value"), [("guide", "most-allocated"), ("network", "linear")])
def test_bench_training_refuses_what_needs_a_workload_without_one(
    name: str, value: str, capsys: pytest.CaptureFixture[str]
):
    assert run("training", f"--{name}", value) == 2
    assert f"a {name} without a workload" in capsys.readouterr().err


def test_bench_training_says_that_a_ratio_is_only_a_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(training_speed, "race", finished_races)
    assert run("training") == 0
    assert "ratio at most 0.017; bar 0.050: met" in capsys.readouterr().out


def test_bench_training_on_a_device_gives_steps_per_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    cell = training_speed.Speed("gpu: H", "ppo", 16, 1024, 16, 64, 60.0, 6e6, 3e6)
    monkeypatch.setattr(training_speed, "accelerator_cells", lambda device: iter([cell] if device == "gpu" else []))
    assert run("training", "--device", "gpu", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["steps_per_second"] == 6e6


def test_bench_inference_puts_the_cache_beside_the_plain_path(capsys: pytest.CaptureFixture[str]):
    assert run("inference", "--nodes", "10", "--repeats", "5", "--series", "1", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == 1
    assert payload["blas"]
    assert [cell["workload"] for cell in payload["cells"]] == ["test1", "diurnal"]
    for cell in payload["cells"]:
        assert (cell["nodes"], cell["network"]) == (10, "deepsets-32")
        for name in ("median_us", "p99_us", "cached_median_us", "cached_p99_us", "filters_median_us", "ratio"):
            assert cell[name] > 0


@pytest.mark.usefixtures("built_programs")
def test_bench_writes_counts_what_every_scheduler_wrote(
    require_component: Callable[[str, str, bool], None], capsys: pytest.CaptureFixture[str]
):
    program = build.program_path("longshore-kube-scheduler")
    require_component(program.name, build.BUILD_COMMAND, program.is_file())
    code = run("writes", "--nodes", "10", "--seconds", "5", "--json")
    rows = json.loads(capsys.readouterr().out)["writes"]
    assert [row["mode"] for row in rows] == ["stock-sampled", "plugin", "standalone"]
    for row in rows:
        assert row["bound"] == row["what"]["create pods/binding"] >= 80  # the cluster was full
        assert row["per_pod"] > 2  # an event for each, and what was said of those that wait
    assert code == (0 if all(row["is_met"] for row in rows) else 1)
