"""Trainings as jobs: what comes back is what a run in this process gives."""

from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from longshore.policies.bundle_folder import read_folder
from longshore.training.run import jobs as jobs_module
from longshore.training.run import loop as run_module
from longshore.training.run.engine import LocalEngine
from longshore.training.run.jobs import joined, learn, never_stop, train_job, train_on_engine, train_seeds
from longshore.training.run.logs import LOG_FILE, read_log
from longshore.training.run.loop import FOLDER, stored_plan, train
from training.tiny import prepare_once, tiny_plan


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "prepare", prepare_once)
    monkeypatch.setattr(run_module, "prepare", prepare_once)


@pytest.mark.slow
def test_job_gives_the_policy_of_a_run(tmp_path: Path) -> None:
    plan = tiny_plan("evolution")
    result = train(plan, tmp_path / "run")
    assert result.bundle is not None
    found = train_job({"plan": plan.to_json()}, never_stop)
    assert tuple(found["returns"]) == result.returns
    for name, tensor in safetensors_numpy.load(found["tensors"]).items():
        np.testing.assert_array_equal(tensor[0], result.bundle.tensors[name])


def test_learning_reports_every_chunk_and_stops_when_told() -> None:
    reports: list[tuple[int, float]] = []

    def report(step: int, worth: float) -> bool:
        reports.append((step, worth))
        return step == 2

    found = learn(prepare_once(tiny_plan("evolution")), report)
    assert [step for step, _ in reports] == [1, 2]
    assert found["is_stopped"]
    assert found["worths"] == [reports[-1][1]]


def test_seeds_are_jobs_of_their_own_and_follow_each_other() -> None:
    plan = tiny_plan("evolution", seeds=2)
    engine = LocalEngine()
    found = train_seeds(plan, engine)
    engine.close()
    assert [(one["plan"]["seed"], one["plan"]["seeds"]) for one in found] == [(0, 1), (1, 1)]
    assert found[0]["tensors"] != found[1]["tensors"]
    state = joined(found)
    assert np.asarray(state.best_return).tolist() == [one["returns"][0] for one in found]
    assert {leaf.shape[0] for leaf in state.best.values()} == {2}


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "seeds"), [("evolution", 1), ("actor_critic", 2)])
def test_run_on_an_engine_writes_a_bundle_a_plan_and_a_log(tmp_path: Path, learner: str, seeds: int) -> None:
    plan = tiny_plan(learner, seeds=seeds)
    engine = LocalEngine()
    told: list[int] = []
    result = train_on_engine(plan, tmp_path / "run", engine, watch=lambda *args: bool(told.append(args[0])))
    engine.close()
    policy = read_folder(tmp_path / "run")
    assert len(result.returns) == seeds
    assert policy.metrics["selection_return"] == max(result.returns)
    assert stored_plan(tmp_path / "run") == plan
    records = read_log(tmp_path / "run" / FOLDER / LOG_FILE)
    assert len(records) == len(told) // len(set(told))
    assert len(records[-1]["seeds"]["selection_best"]) == seeds
