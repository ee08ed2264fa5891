"""`longshore evaluate`: a bundle on its own workload, beside plain policies, with the share of the optimum."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.policies.bundle_folder import write_folder
from support.bundle_samples import make_hybrid


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A policy that decides as `energy-latency` does, trained, so it says, on a short test1."""
    provenance = {"workload": "test1", "workload_config": {"cycles": 1}, "lag_seconds": 0.0}
    write_folder(tmp_path / "mine", make_hybrid("energy-latency", objective="el-rl", provenance=provenance))
    return tmp_path / "mine"


def test_a_bundle_is_compared_on_its_own_workload(bundle: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["evaluate", str(bundle), "--policies", "kube-default,energy-latency", "--seeds", "3"]
    assert run(*arguments, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (found["workload"], found["parameters"], found["objective"]) == ("test1", {"cycles": "1"}, "el-rl")
    assert found["seeds"] == [0, 1, 2]
    rows = {row["policy"]: row["metrics"]["reward"]["mean"] for row in found["rows"]}
    assert list(rows) == [str(bundle), "kube-default", "energy-latency"]
    assert rows[str(bundle)] == rows["energy-latency"] > rows["kube-default"]
    assert "the same as energy-latency, the best plain policy" in found["verdict"][0]


def test_bundles_of_different_objectives_are_compared_apart(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    provenance = {"workload": "test1", "workload_config": {"cycles": 1}, "lag_seconds": 0.0}
    write_folder(tmp_path / "other", make_hybrid("most-allocated", objective="ee", provenance=provenance))
    arguments = ["evaluate", str(bundle), str(tmp_path / "other"), "--policies", "kube-default", "--seeds", "1"]
    assert run(*arguments) == 0
    captured = capsys.readouterr()
    assert captured.err.count("objective el-rl") == captured.err.count("objective ee") == 1
    first = captured.out.splitlines()[0]
    assert first.startswith(f"test1: {bundle} earns")
    assert "% of the optimum" in first
    assert "kube-default is the best plain policy" in first


def test_what_is_no_bundle_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("evaluate", str(tmp_path / "nothing")) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["{path}:reward", 'terms: [{{name: "{path}:reward"}}]', 'terms: [{{name: "x\\x2epy:f"}}]']
)
def test_a_bundle_may_not_name_code_that_is_then_run(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\ndef reward(step): return 0.0\n")
    write_folder(tmp_path / "b", make_hybrid("energy-latency", objective=text.format(path=trap), provenance={}))
    assert run("evaluate", str(tmp_path / "b"), "--seeds", "1") == 2
    assert "which is not run on its word" in capsys.readouterr().err
    assert not (tmp_path / "sprung").exists()


def test_a_bundle_may_not_name_a_workload_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    write_folder(tmp_path / "b", make_hybrid("energy-latency", provenance={"workload": f"{trap}:Mine"}))
    assert run("evaluate", str(tmp_path / "b"), "--seeds", "1") == 2
    assert "give the workload yourself by `--workload`" in capsys.readouterr().err
    assert not (tmp_path / "sprung").exists()
