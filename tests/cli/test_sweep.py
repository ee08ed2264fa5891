"""`longshore sweep` as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.cli.sweep import trial_line
from longshore.training.run.engine import Report, Values
from longshore.training.search import sweep as sweep_module
from longshore.training.search.sweep import Trial

TINY = [
    *("--network", "linear", "--workload", "memory-pods", "--set", "pods=6", "--objective", "compress"),
    *("--training-traces", "2", "--selection-traces", "2", "--no-bundle"),
]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def pretend(values: Values, report: Report) -> Values:
    worth = float(values["plan"]["learner_config"]["learning_rate"])
    report(1, worth)
    return {"worths": [worth], "returns": [worth * 10], "seconds": 0.1, "is_stopped": False}


@pytest.fixture(autouse=True)
def _pretending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweep_module, "train_job", pretend)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from longshore.cli.main import main\n"
        "try:\n"
        "    main(['sweep', '--help'])\n"
        "finally:\n"
        "    heavy = [name for name in ('jax', 'numpy', 'optuna', 'ray') if name in sys.modules]\n"
        "    print('heavy:', heavy, file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stderr == "heavy: []\n"


def test_sweep_prints_the_best_trials_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("sweep", "ppo", *TINY, "--trials", "4", "--search", "learning_rate=1e-4:1e-2", "--out", str(out)) == 0
    found = capsys.readouterr()
    returns = [float(line.split()[2]) for line in found.out.splitlines()[1:]]
    assert len(returns) == 4
    assert returns == sorted(returns, reverse=True)
    assert "learning_rate: 0.0001 to 0.01" in found.err
    assert "[4/4] trial 3: return" in found.err
    assert (out / "best-plan.json").is_file()


def test_sweep_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "--search", "learning_rate=1e-3,1e-2", "--fix", "epochs=2"]
    assert run("sweep", "ppo", *TINY, "--trials", "3", *only, "--out", str(tmp_path / "out"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plan"]["learner_config"] == {"epochs": 2, **found["best"]["hyperparameters"]}
    assert len(found["trials"]) == 3


def test_sweep_goes_on_in_the_same_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for trials in ("2", "3"):
        capsys.readouterr()
        assert run("sweep", "ppo", *TINY, "--trials", trials, "--out", str(tmp_path / "out")) == 0
    assert "[3/3]" in (told := capsys.readouterr().err)
    assert "[1/3]" not in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pppo"], "unknown learner `pppo`"),
        (["ppo", "--network", "cnn"], "unknown network `cnn`"),
        (["ppo", "--search", "learning_rate"], "expected `--search name="),
        (["ppo", "--engine", "spark"], "unknown engine `spark`"),
        (["ppo", "--preset", "thesis"], "is not about `ppo`"),
    ],
)
def test_sweep_refuses_what_it_does_not_know(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("sweep", *arguments, "--out", str(tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_trial_line_says_how_it_ended() -> None:
    trial = Trial(3, "pruned", 1.0, 12.5, {"learning_rate": 0.001, "double": True}, "")
    assert trial_line(trial, 4, 20) == "[4/20] trial 3: return 12.5 (ended early); learning_rate=0.001 double=True"
    failed = Trial(4, "failed", None, None, {"batch": 2}, "got too much")
    assert trial_line(failed, 4, 20) == "[4/20] trial 4: failed: got too much; batch=2"
