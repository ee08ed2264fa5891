"""`longshore compare` and `simulate`: shapes, trace files and refusals; the numbers are the evaluation's."""

import dataclasses
import json
from pathlib import Path

import pytest

from evaluation.test_report import make_comparison
from evaluation.test_report import make_row as comparison_row
from longshore.cli.compare import load_traces, render
from longshore.cli.main import main
from longshore.kube.trace_file import write_trace
from longshore.workloads.build import build_workload


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_compare_answers_in_the_promised_shape(capsys: pytest.CaptureFixture[str]):
    policies = "kube-default,most-allocated,energy-latency"
    assert run("compare", "--workload", "test1", "--policies", policies, "--seeds", "3", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert (payload["schema"], payload["workload"]) == (1, "test1")
    assert [row["policy"] for row in payload["rows"]] == policies.split(",")
    wanted = {"reward", "active_nodes", "cpu_variance", "latency_ms", "hard_violations", "watts", "unschedulable"}
    for row in payload["rows"]:
        assert wanted <= set(row["metrics"])
        assert set(row["metrics"]["reward"]) >= {"mean", "low", "high"}
        assert row["decisions_per_second"] > 0
    assert {"value", "method"} <= set(payload["bounds"]["active_nodes"])
    rows = {row["policy"]: row["metrics"] for row in payload["rows"]}
    # On test1 the default breaks hard limits, energy-latency does not, and packing reaches the bound.
    assert rows["kube-default"]["hard_violations"]["mean"] > 0
    assert rows["energy-latency"]["hard_violations"]["mean"] == 0
    bound = payload["bounds"]["active_nodes"]["value"]
    assert rows["most-allocated"]["active_nodes"]["mean"] == pytest.approx(bound)


def test_compare_says_first_who_is_best(capsys: pytest.CaptureFixture[str]):
    arguments = ("--policies", "kube-default,energy-latency", "--seeds", "2", "--set", "cycles=1")
    assert run("compare", *arguments) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].startswith("test1: energy-latency, the best of these policies, earns")
    assert "watts_idle_off" in lines[1]
    assert " W" in lines[2]
    assert "the same for all:" in told.err
    assert max(map(len, lines[1:])) <= 120


def test_compare_marks_whom_the_bound_does_not_hold_for(capsys: pytest.CaptureFixture[str]):
    row = comparison_row("lazy", 9.0, pending=1.0)
    render(dataclasses.replace(make_comparison(), rows=(comparison_row("kube-default", 10.0, is_baseline=True), row)))
    told = capsys.readouterr()
    assert [line.split()[:2] for line in told.out.splitlines() if "lazy" in line][-1] == ["lazy", "†"]
    assert "† left pods waiting" in told.err


def test_a_trace_file_that_is_played_again_says_what_its_intervals_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(write_trace(build_workload("test1", {"cycles": 1}).trace(0))))
    load_traces(str(path), None, None, range(1))
    assert capsys.readouterr().err == ""
    load_traces(str(path), None, None, range(3))
    assert "one trace is played 3 times: intervals show how ties are broken" in capsys.readouterr().err


def test_simulate_plays_a_trace_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(write_trace(build_workload("test1", {"cycles": 1}).trace(0))))
    assert run("simulate", "--workload", str(path), "--policy", "most-allocated", "--json") == 0
    assert json.loads(capsys.readouterr().out)["schema"] == 1


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["compare", "--workload", "tst1"], "did you mean `test1`", id="misspelt workload"),
        pytest.param(["compare", "--workload", "no.jsonl"], "trace file `no.jsonl` does not exist", id="missing trace"),
        pytest.param(["compare", "--policies", "randm"], "did you mean `random`", id="misspelt policy"),
        pytest.param(["compare", "--set", "cycles"], "expected `--set name=value`", id="parameter without a value"),
        pytest.param(["compare", "--set", "cycle=3"], "did you mean `cycles`", id="misspelt parameter"),
        pytest.param(["compare", "--set", "cycles=many"], "workload `test1`", id="parameter of the wrong type"),
        pytest.param(["simulate", "--objective", "wats"], "did you mean `watts`", id="misspelt objective"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_exit_2(
    arguments: list[str], want: str, capsys: pytest.CaptureFixture[str]
):
    assert run(*arguments) == 2
    assert want in capsys.readouterr().err


def test_a_trace_file_takes_no_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(write_trace(build_workload("test1", {"cycles": 1}).trace(0))))
    assert run("compare", "--workload", str(path), "--nodes", "4") == 2
    assert "has its nodes and pods already" in capsys.readouterr().err


def test_figures_that_rest_on_what_was_assumed_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = build_workload("test1", {"cycles": 1}).trace(0)
    nodes = tuple(
        dataclasses.replace(node, annotations=(), assumed=("carbon", "power", "price")) for node in trace.nodes
    )
    file = tmp_path / "trace.jsonl"
    file.write_bytes(b"".join(write_trace(dataclasses.replace(trace, nodes=nodes))))
    report = tmp_path / "report.html"
    arguments = ("--workload", str(file), "--policies", "kube-default", "--seeds", "1", "--report", str(report))
    assert run("compare", *arguments) == 0
    out, err = capsys.readouterr()
    assert "watts_idle_off (assumed)" in out
    assert " W (assumed)" in out  # in the verdict
    assert "have no price: assumed $0.03 for each CPU" in err
    page = report.read_text()
    assert "Assumed: 3 of 3 nodes have no watts" in page
    assert "<th>watts (assumed)<small>" in page
    run("simulate", "--workload", str(file), "--objective", "watts", "--json")
    payload = json.loads(capsys.readouterr().out)
    assert {"reward", "watts", "kwh_idle_off", "cost_per_hour"} <= set(payload["assumed"])
    assert "latency_ms" not in payload["assumed"]
