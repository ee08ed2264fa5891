"""`longshore train` as a user meets it: flags, refusals, and a run that is interrupted and goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.hyperparameters import hyperparameters
from longshore.cli.main import main

HEAVY_PACKAGES = ("jax", "numpy", "msgspec", "rich")
TINY = [
    *("--network", "linear", "--workload", "memory-pods", "--set", "pods=6", "--objective", "compress"),
    *("--training-traces", "2", "--selection-traces", "2"),
]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.mark.parametrize("arguments", [["train", "--help"], ["train", "ppo", "--help"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]):
    script = (
        "import sys\n"
        "from longshore.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "finally:\n"
        f"    print('heavy:', [name for name in {HEAVY_PACKAGES!r} if name in sys.modules], file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stderr == "heavy: []\n"


def test_help_lists_the_learners_with_their_first_lines(capsys: pytest.CaptureFixture[str]):
    assert run("train", "--help") == 0
    out = " ".join(capsys.readouterr().out.split())
    for name in LEARNERS.table:
        assert f"{name} {LEARNERS.describe(name)}" in out


@pytest.mark.parametrize("learner", LEARNERS.table)
def test_every_hyperparameter_is_a_flag(learner: str, capsys: pytest.CaptureFixture[str]):
    assert run("train", learner, "--network", "gnn", "--help") == 0
    words = capsys.readouterr().out.split()
    flags = [f"--{one.flag}" for one in hyperparameters(LEARNERS, learner)]
    flags += [f"--network-{one.flag}" for one in hyperparameters(NETWORKS, "gnn")]
    for flag in flags:
        assert flag in words or f"{flag}," in words or any(word.startswith(f"{flag}/") for word in words), flag


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["ppoo"], "did you mean `ppo`", id="misspelt learner"),
        pytest.param(["absent.py:Mine"], "there is no file `absent.py`", id="learner in no file"),
        pytest.param(["ppo", "--network", "absent.py:Mine"], "there is no file `absent.py`", id="network in no file"),
        pytest.param(["ppo", "--prior", "absent.py:MINE"], "is in a file, which is not run here", id="prior in a file"),
        pytest.param(["ppo", "--learnin-rate", "1"], "--learning-rate", id="misspelt flag"),
        pytest.param(["ppo", "--network", "gnnn"], "did you mean `gnn`", id="misspelt network"),
        pytest.param(["ppo", "--preset", "thesis"], "it is about: dqn", id="preset of another learner"),
        pytest.param(["dqn", "--preset", "thesys"], "did you mean `thesis`", id="misspelt preset"),
        pytest.param(["ppo", "--workload", "tst1"], "did you mean `test1`", id="misspelt workload"),
        pytest.param(["ppo", "--objective", "wats"], "did you mean `watts`", id="misspelt objective"),
        pytest.param(["ppo", "--set", "cycles"], "expected `--set name=value`", id="parameter without a value"),
        pytest.param(["ppo", "--limit", "latency"], "p99_latency_ms<=25", id="limit"),
        pytest.param(["ppo", "--dial"], "two terms or more", id="dial of one term"),
        pytest.param(["ppo", "--steps", "many"], "--steps", id="no number"),
        pytest.param(["ppo", "--device", "tpu"], "expected one of: cpu, gpu", id="device"),
        pytest.param(["ppo", "--resume"], "no training run", id="nothing to resume"),
        pytest.param(["--resume", "nothing"], "no training run", id="nothing to resume by folder"),
        pytest.param(["--resume", "x", "ppo"], "leave the learner out", id="resume and a learner"),
        pytest.param(["ppo", "--engine", "spark"], "`local`, `ray`", id="engine"),
        pytest.param(["ppo", "--engine", "ray", "--resume"], "no checkpoint", id="resume on an engine"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_exit_2(
    arguments: list[str],
    want: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert run("train", *arguments) == 2
    assert want in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("tensorboard", str(tmp_path)) == 2
    assert "train with `--tensorboard` first" in capsys.readouterr().err


def longshore(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from longshore.cli.main import main; main()", *arguments]
    # One place for compiled programs: the first run compiles for the others.
    settings = {"JAX_COMPILATION_CACHE_DIR": str(cwd / "compiled"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = os.environ | settings
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_ctrl_c_and_resume_give_the_bundle_of_a_run_that_was_never_stopped(tmp_path: Path):
    arguments = ["train", "actor_critic", *TINY, "--envs", "2", "--segment", "8", "--steps", "1600"]
    arguments += ["--evaluations", "200", "--json"]
    whole = longshore(*arguments, "--out", "whole", cwd=tmp_path)
    out, told = whole.communicate(timeout=300)
    assert whole.returncode == 0, told
    payload = json.loads(out)
    assert payload["is_finished"]
    assert payload["returns"][0] > 0
    parted = longshore(*arguments, "--out", "parted", cwd=tmp_path)
    log = tmp_path / "parted" / "training" / "log.jsonl"
    while parted.poll() is None and not (log.is_file() and log.stat().st_size):
        time.sleep(0.01)
    parted.send_signal(signal.SIGINT)
    out, told = parted.communicate(timeout=300)
    assert (parted.returncode, json.loads(out)["is_finished"]) == (130, False), told
    assert "longshore train --resume parted" in told
    assert not (tmp_path / "parted" / "policy.json").exists()
    resumed = longshore("train", "--resume", "parted", cwd=tmp_path)
    out, told = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, told
    assert "longshore evaluate parted" in told
    assert "kube-default" in out
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "parted")]
    assert weights[0] == weights[1]
    policies = [json.loads((tmp_path / name / "policy.json").read_text()) for name in ("whole", "parted")]
    for policy in policies:
        policy.pop("name")
        policy["provenance"].pop("seconds")
    assert policies[0] == policies[1]


def test_a_folder_that_cannot_be_made_is_refused_before_preparing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setattr("longshore.training.run.loop.train", lambda *_, **__: pytest.fail("must not train"))
    for command in (["train", "ppo"], ["sweep", "ppo"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--out", str(tmp_path / "file" / "mine")])
        assert ended.value.code == 2
        assert "--out: a part of the path is a file" in capsys.readouterr().err
