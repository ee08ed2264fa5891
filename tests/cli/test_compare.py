"""`longshore compare` and `simulate`: shapes, trace files and refusals; the numbers are the evaluation's."""

import json
from pathlib import Path

import pytest

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
