"""A sweep: it finds what is good, ends what is hopeless, goes on where it was stopped, and trains the best."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from longshore.core.words.errors import InputError, LongshoreError
from longshore.policies.bundle_folder import read_folder
from longshore.training.run import loop as run_module
from longshore.training.run.engine import LocalEngine, Report, Values
from longshore.training.run.plan import SELECTION_SEED, TRAINING_SEED, Plan, read_plan
from longshore.training.search import sweep as sweep_module
from longshore.training.search.space import Space, make_space
from longshore.training.search.sweep import BEST_FOLDER, BEST_PLAN_FILE, STUDY_FILE, Swept, Trial, sweep, train_best
from training.tiny import prepare_once, tiny_plan

CHUNKS = 5
GOOD_RATE = 1e-2


def learning_rate(values: Values) -> float:
    return float(values["plan"]["learner_config"]["learning_rate"])


def pretend(values: Values, report: Report) -> Values:
    """Stand for a training: the closer the learning rate is to a good one, the better, from the first chunk on."""
    worth = -abs(math.log10(learning_rate(values) / GOOD_RATE))
    is_stopped = any(report(chunk, worth) for chunk in range(1, CHUNKS + 1))
    return {"worths": [worth], "returns": [100 + worth], "seconds": 0.1, "is_stopped": is_stopped}


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "prepare", prepare_once)
    monkeypatch.setattr(run_module, "prepare", prepare_once)


@pytest.fixture
def pretending(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Values, Report], Values]], None]:
    def use(job: Callable[[Values, Report], Values]) -> None:
        monkeypatch.setattr(sweep_module, "train_job", job)

    use(pretend)
    return use


def rate_space(**changes: Any) -> Space:
    return make_space(tiny_plan("ppo", **changes), ["learning_rate=1e-5:1"], has_only_searched=True)


def states(swept: Swept) -> list[str]:
    return [one.state for one in sorted(swept.trials)]


@pytest.mark.usefixtures("pretending")
def test_sweep_begins_with_the_defaults_and_finds_better(tmp_path: Path) -> None:
    told: list[tuple[Trial, int, int]] = []
    swept = sweep(rate_space(), tmp_path / "out", trials=12, tell=lambda *args: told.append(args))
    first = min(swept.trials)
    assert first.hyperparameters == {"learning_rate": 3e-3}
    assert first.worth is not None and swept.best.worth is not None
    assert swept.best.worth > max(first.worth, -0.5)
    assert swept.best.selection_return == pytest.approx(100 + swept.best.worth)
    assert [(done, total) for _, done, total in told] == [(number, 12) for number in range(1, 13)]


@pytest.mark.usefixtures("pretending")
def test_sweep_writes_the_best_plan(tmp_path: Path) -> None:
    swept = sweep(rate_space(), tmp_path / "out", trials=5)
    written = read_plan(msgspec.json.decode((tmp_path / "out" / BEST_PLAN_FILE).read_bytes()))
    assert written == read_plan(swept.plan.to_json())
    assert written.learner_config["learning_rate"] == swept.best.hyperparameters["learning_rate"]


@pytest.mark.usefixtures("pretending")
def test_sweep_leaves_its_file_closed(tmp_path: Path) -> None:
    sweep(rate_space(), tmp_path / "sweep", trials=2)
    held = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [path for path in held if path.is_relative_to(tmp_path)]


@pytest.mark.usefixtures("pretending")
def test_sweep_ends_hopeless_trials_early(tmp_path: Path) -> None:
    swept = sweep(rate_space(), tmp_path / "out", trials=10)
    assert "pruned" in states(swept)
    pruned = [one.worth for one in swept.trials if one.state == "pruned"]
    assert all(worth is not None and worth < (swept.best.worth or 0) for worth in pruned)


@pytest.mark.usefixtures("pretending")
def test_sweep_with_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    one, two, other = (sweep(rate_space(), tmp_path / str(n), trials=6, seed=n // 2) for n in range(3))
    assert one.trials == two.trials
    assert one.trials != other.trials


@pytest.mark.usefixtures("pretending")
def test_sweep_goes_on_without_drawing_its_first_trials_again(tmp_path: Path) -> None:
    first = sweep(rate_space(), tmp_path / "out", trials=4)
    second = sweep(rate_space(), tmp_path / "out", trials=8)
    assert set(map(str, first.trials)) < set(map(str, second.trials))
    assert len({one.hyperparameters["learning_rate"] for one in second.trials}) == 8


def test_sweep_begins_trials_again_that_were_interrupted(tmp_path: Path, pretending: Callable[..., None]) -> None:
    engine = LocalEngine()

    def interrupted() -> Any:
        raise KeyboardInterrupt

    sweep(rate_space(), tmp_path / "out", trials=2)
    engine.wait = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        sweep(rate_space(), tmp_path / "out", trials=3, engine=engine)
    engine.close()
    swept = sweep(rate_space(), tmp_path / "out", trials=3)
    assert states(swept) == ["complete", "complete", "failed", "complete"]
    tried = {one.number: one.hyperparameters for one in swept.trials}
    assert tried[3] == tried[2]


@pytest.mark.usefixtures("pretending")
def test_sweep_refuses_a_folder_of_another_sweep(tmp_path: Path) -> None:
    sweep(rate_space(), tmp_path / "out", trials=1)
    with pytest.raises(InputError, match="`seed` is 0 there and 9 here"):
        sweep(rate_space(seed=9), tmp_path / "out", trials=2)
    narrower = make_space(tiny_plan("ppo"), ["learning_rate=1e-4:1e-1"], has_only_searched=True)
    with pytest.raises(InputError, match="it searches other ranges"):
        sweep(narrower, tmp_path / "out", trials=2)


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize(("name", "message"), [("notes.txt", "no sweep"), (STUDY_FILE, "cannot be opened")])
def test_sweep_refuses_a_folder_that_holds_something_else(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_text("mine " * 1000)
    with pytest.raises(InputError, match=message):
        sweep(rate_space(), tmp_path, trials=1)
    assert (tmp_path / name).read_text() == "mine " * 1000


def test_sweep_passes_over_trials_that_fail(tmp_path: Path, pretending: Callable[..., None]) -> None:
    tried: list[float] = []

    def second_fails(values: Values, report: Report) -> Values:
        tried.append(learning_rate(values))
        if len(tried) == 2:
            raise InputError("got too much", "take less")
        return pretend(values, report)

    pretending(second_fails)
    swept = sweep(rate_space(), tmp_path / "out", trials=3)
    failed = [one for one in swept.trials if one.state == "failed"]
    assert [(one.number, one.error) for one in failed] == [(1, "got too much")]
    assert len(swept.trials) == 4


def test_sweep_in_which_all_fails_says_why(tmp_path: Path, pretending: Callable[..., None]) -> None:
    def always(_values: Values, _report: Report) -> Values:
        raise InputError("got too much", "take less")

    pretending(always)
    with pytest.raises(LongshoreError, match="got too much"):
        sweep(rate_space(), tmp_path / "out", trials=3)


def test_sweep_ranks_trainings_that_diverged_last(tmp_path: Path, pretending: Callable[..., None]) -> None:
    def diverging(values: Values, report: Report) -> Values:
        if learning_rate(values) > 1e-2:
            return {"worths": [float("nan")], "returns": [float("-inf")], "seconds": 0.1, "is_stopped": False}
        return pretend(values, report)

    pretending(diverging)
    swept = sweep(rate_space(), tmp_path / "out", trials=10)
    assert swept.best.worth is not None
    assert any(one.state == "complete" and one.worth is None for one in swept.trials)


def test_sweep_says_what_made_the_difference(tmp_path: Path, pretending: Callable[..., None]) -> None:
    searched = ["learning_rate=1e-5:1", "entropy_weight=1e-4:1e-1"]
    space = make_space(tiny_plan("ppo"), searched, has_only_searched=True)
    swept = sweep(space, tmp_path / "out", trials=15)
    assert next(iter(swept.importances)) == "learning_rate"


@pytest.mark.usefixtures("pretending")
def test_sweep_runs_several_trials_at_once(tmp_path: Path) -> None:
    engine = LocalEngine(jobs=3)
    swept = sweep(rate_space(), tmp_path / "out", trials=9, engine=engine)
    engine.close()
    assert len(swept.trials) == 9


def test_trials_are_judged_by_selection_traces_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from longshore.simulator.source import TraceSource
    from longshore.training.run.prepare import prepare

    asked: list[int] = []
    params_of = TraceSource.params_of
    monkeypatch.setattr(TraceSource, "params_of", lambda self, seeds: asked.extend(seeds) or params_of(self, seeds))
    prepare(tiny_plan("ppo"))
    assert asked and all(TRAINING_SEED <= seed < 2 * SELECTION_SEED for seed in asked)


@pytest.mark.slow
def test_best_of_a_sweep_is_trained_into_the_policy_that_won(tmp_path: Path) -> None:
    space = make_space(tiny_plan("evolution"), ["mean_rate=0.5,1.0"], has_only_searched=True)
    swept = sweep(space, tmp_path / "out", trials=2)
    result = train_best(swept)
    assert result is not None
    assert np.mean(result.returns) == swept.best.selection_return
    policy = read_folder(tmp_path / "out" / BEST_FOLDER)
    assert policy.provenance["config"]["mean_rate"] == swept.best.hyperparameters["mean_rate"]
    assert train_best(swept) is None  # there already


def test_sweep_of_a_plan_that_does_not_fit_is_refused_before_any_trial(tmp_path: Path) -> None:
    space = make_space(Plan(objective="nothing"))
    with pytest.raises(InputError, match="nothing"):
        sweep(space, tmp_path / "out", trials=2)
    assert not (tmp_path / "out").exists()
