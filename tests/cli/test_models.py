"""`longshore models`, and bundles wherever a policy's name is accepted."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.policies.bundle_folder import write_folder
from support.bundle_samples import make_bundle, make_dial, make_hybrid

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_folder(tmp_path / "plain", make_bundle())
    write_folder(tmp_path / "dial", make_dial(name="second", objective="watts"))
    return tmp_path


def test_list_names_the_bundles_below_a_folder_and_those_that_are_broken(
    runs: Path, capsys: pytest.CaptureFixture[str]
):
    (runs / "broken").mkdir()
    (runs / "broken" / "policy.json").write_text("{}")
    assert run("models", "list", str(runs), "--json") == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [(Path(model["folder"]).name, model["name"]) for model in models] == [
        ("broken", None),
        ("dial", "second"),
        ("plain", "sample"),
    ]
    assert "has no `weights.safetensors`" in models[0]["broken"]
    assert models[2]["learner"] == "dqn"


def test_list_as_text_has_a_row_per_bundle(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "list", str(runs)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "second" in lines[1]


def test_an_empty_list_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "list", str(tmp_path)) == 0
    assert "no bundles" in capsys.readouterr().err


def test_show_says_what_a_bundle_is(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "show", str(runs / "plain")) == 0
    text = capsys.readouterr().out
    assert "el-rl" in text
    assert "1.5 [1.25, 1.75]" in text
    assert run("models", "show", str(runs / "dial"), "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["takes_weights"] == {"latency": 0.5, "watts": 0.5}
    assert payload["features"][0] == "after_cpu_used@1"


def test_verify_lets_a_sound_bundle_through(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "verify", str(runs / "plain")) == 0
    assert "sound: sample" in capsys.readouterr().out
    assert run("models", "verify", str(runs / "plain"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["is_sound"] is True


def test_verify_ends_with_1_and_the_reason(runs: Path, capsys: pytest.CaptureFixture[str]):
    weights = runs / "plain" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-3])
    assert run("models", "verify", str(runs / "plain")) == 1
    assert "cut off" in capsys.readouterr().err
    assert run("models", "verify", str(runs / "plain"), "--json") == 1
    payload = json.loads(capsys.readouterr().out)
    assert payload["is_sound"] is False
    assert "copy the bundle again" in payload["hint"]


def test_verify_tries_the_policy_and_not_only_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_folder(tmp_path / "hybrid", make_hybrid("not-installed"))
    assert run("models", "verify", str(tmp_path / "hybrid")) == 1
    assert "unknown policy `not-installed`" in capsys.readouterr().err


def test_diff_names_what_differs(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "diff", str(runs / "plain"), str(runs / "dial"), "--json") == 0
    found = {one["what"]: one for one in json.loads(capsys.readouterr().out)["differences"]}
    assert found["objective"] == {"what": "objective", "first": "el-rl", "second": "watts"}
    assert "preference: watts" in found
    assert run("models", "diff", str(runs / "plain"), str(runs / "plain")) == 0
    assert "no differences" in capsys.readouterr().err


def test_a_folder_that_is_no_bundle_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("models", "show", str(tmp_path)) == 2
    assert "has no `policy.json`" in capsys.readouterr().err


def test_compare_takes_bundles_beside_names(runs: Path, capsys: pytest.CaptureFixture[str]):
    bundles = [str(runs / "plain"), f"{runs / 'dial'}@watts=1"]
    policies = ",".join(["kube-default", *bundles])
    assert run("compare", "--set", "cycles=1", "--seeds", "2", "--policies", policies, "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in payload["rows"]] == ["kube-default", *bundles]
    assert payload["filters"] == f"upstream: kube-default; upstream+latency: {', '.join(bundles)}"
    # Its own filters keep the hard limits, whatever its weights are.
    assert payload["rows"][1]["metrics"]["hard_violations"]["mean"] == 0


def test_an_untrained_hybrid_is_its_heuristic_to_the_last_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_folder(tmp_path / "hybrid", make_hybrid("kube-default"))
    policies = f"kube-default,{tmp_path / 'hybrid'}"
    arguments = ["--set", "cycles=1", "--seeds", "2", "--filters", "upstream", "--policies", policies, "--json"]
    assert run("compare", *arguments) == 0
    plain, hybrid = json.loads(capsys.readouterr().out)["rows"]
    assert hybrid["values"] == plain["values"]


def test_simulate_takes_a_bundle(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run("simulate", "--set", "cycles=1", "--policy", f"{runs / 'plain'}/", "--json") == 0
    assert json.loads(capsys.readouterr().out)["policy"] == str(runs / "plain")


def test_place_takes_a_bundle(runs: Path, capsys: pytest.CaptureFixture[str]):
    dump = str(ROOT / "examples" / "small-cluster.json")
    assert run("place", dump, "--policies", f"kube-default,{runs / 'plain'}", "--json") == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    assert [one["policy"] for one in found] == ["kube-default", str(runs / "plain")]
    assert any(decision["node"] for decision in found[1]["decisions"])


@pytest.mark.parametrize("command", [["compare", "--policies"], ["simulate", "--policy"]])
def test_a_folder_that_does_not_exist_is_answered(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(*command, "runs/missing") == 2
    assert "no policy and no folder of that name" in capsys.readouterr().err
