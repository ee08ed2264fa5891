"""A whole run: stopped and gone on with it is the run that was never stopped, for every learner."""

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from longshore.agents import LEARNERS
from longshore.core.network.bundle import Envelope
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import read_folder
from longshore.training.program.chunk import TrainState
from longshore.training.run import export
from longshore.training.run import loop as run_module
from longshore.training.run.guides import pinned
from longshore.training.run.logs import read_log
from longshore.training.run.loop import (
    CHECKPOINT_FILE,
    FOLDER,
    PLAN_FILE,
    Report,
    TrainingResult,
    Watchers,
    stored_plan,
    train,
)
from longshore.training.run.plan import read_plan
from longshore.training.run.prepare import Prepared
from training.tiny import prepare_once, tiny_plan


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "prepare", prepare_once)


def stop_after(chunk: int) -> Watchers:
    """Press Ctrl-C when a chunk is done."""

    def progress(report: Report) -> None:
        if report.record.chunk == chunk:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.05)  # it is heard by another thread

    return Watchers(progress)


def arrays(out: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(out / FOLDER / CHECKPOINT_FILE)


def without_seconds(out: Path) -> list[dict[str, object]]:
    records = read_log(out / FOLDER / "log.jsonl")
    for record in records:
        record.pop("seconds")
        record["scalars"].pop("steps_per_second")
    return records


def any_envelope(prepared: Prepared, _state: TrainState) -> Callable[[object], Envelope]:
    """Stand where the training traces are played again: that is compiled, and has its own test."""
    number = len(prepared.program.task.features)
    return lambda _tensors: Envelope((0.0,) * number, (1.0,) * number)


@pytest.mark.parametrize("learner", LEARNERS.names())
def test_a_run_that_was_stopped_goes_on_bit_for_bit(learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "compile_envelope", any_envelope)
    plan = tiny_plan(learner)
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    finished = train(plan, whole)
    stopped = train(plan, parted, watchers=stop_after(2))
    assert stopped.bundle is None
    assert not (parted / "policy.json").exists()
    resumed = train(plan, parted, resume=True)
    assert resumed.bundle is not None
    assert finished.bundle is not None
    want, got = arrays(whole), arrays(parted)
    assert got.keys() == want.keys()
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name)
        assert got[name].dtype == array.dtype
    assert (parted / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()
    assert resumed.returns == finished.returns
    assert without_seconds(parted) == without_seconds(whole)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """A run to look at; its folder is called `mine`."""
    return train(tiny_plan(seeds=2), tmp_path_factory.mktemp("run") / "mine")


def test_the_bundle_says_where_it_comes_from(finished: TrainingResult):
    policy = read_folder(finished.out)
    assert policy.name == "mine"
    told = policy.provenance
    assert (told["learner"], told["network"], told["workload"]) == ("actor_critic", "linear", "memory-pods")
    assert read_plan(told["plan"]) == finished.plan
    # Hyperparameters that were not given are there too.
    assert told["config"]["discount"] == 0.97
    assert told["selection_returns"] == list(finished.returns)
    assert len(finished.returns) == 2
    assert {"longshore", "jax", "numpy", "python", "device"} <= set(told["versions"])
    assert policy.metrics["selection_return"] == max(finished.returns)
    assert policy.metrics["selection_return_kube-default"] == finished.baselines["kube-default"]


def test_the_envelope_holds_what_training_met(finished: TrainingResult):
    policy = read_folder(finished.out)
    free, feasible = zip(policy.envelope.low, policy.envelope.high, strict=True)
    # Free memory is a share, feasibility a bit; both ends of both are met, and a margin is left.
    assert -0.1 < free[0] < 0.5 < 1.0 < free[1] < 1.1
    assert feasible[1] > 1.0
    assert feasible[0] < feasible[1]


def test_a_finished_run_that_is_resumed_stays_as_it_is(finished: TrainingResult):
    before = (finished.out / "weights.safetensors").read_bytes()
    again = train(finished.plan, finished.out, resume=True)
    assert again.bundle is not None
    assert again.decided == finished.decided
    assert (finished.out / "weights.safetensors").read_bytes() == before


def test_a_run_is_not_resumed_with_another_plan(finished: TrainingResult):
    with pytest.raises(InputError, match="`seed` is 0 there and 7 here"):
        train(tiny_plan(seeds=2, seed=7), finished.out, resume=True)


def test_a_run_is_not_resumed_with_another_file_of_decisions(tmp_path: Path):
    file, out = tmp_path / "decisions.jsonl", tmp_path / "run"
    file.write_text('{"pod": "p", "node": "n"}\n')
    begun = pinned(tiny_plan("imitation", guide=str(file)))
    (out / FOLDER).mkdir(parents=True)
    (out / FOLDER / PLAN_FILE).write_text(json.dumps(begun.to_json()))
    file.write_text('{"pod": "p", "node": "m"}\n')
    with pytest.raises(InputError, match="another file than the run was begun with"):
        train(stored_plan(out), out, resume=True)
    with pytest.raises(InputError, match=f"`guide_sha256` is '{begun.guide_sha256}' there"):
        train(tiny_plan("imitation", guide=str(file)), out, resume=True)


def test_progress_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "compile_envelope", any_envelope)
    reports: list[Report] = []
    train(tiny_plan(), tmp_path / "run", watchers=Watchers(reports.append))
    assert [report.record.chunk for report in reports] == list(range(1, len(reports) + 1))
    shares = [report.share for report in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert reports[-1].seconds_left == 0.0
    assert "baseline/random" in reports[0].record.scalars


def test_an_unfinished_run_is_not_lost_by_accident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "compile_envelope", any_envelope)
    out = tmp_path / "run"
    train(tiny_plan(), out, watchers=stop_after(1))
    with pytest.raises(InputError, match="not finished") as refused:
        train(tiny_plan(), out)
    assert "--resume" in str(refused.value)
    assert train(tiny_plan(), out, overwrite=True).bundle is not None
    with pytest.raises(InputError, match="holds a trained policy"):
        train(tiny_plan(), out)


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="no training run"):
        train(tiny_plan(), tmp_path)


def test_resuming_where_nothing_was_begun_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no training run"):
        train(tiny_plan(), tmp_path / "nothing", resume=True)


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "compile_envelope", any_envelope)
    out = tmp_path / "run"
    train(tiny_plan(), out, watchers=stop_after(1))
    held = os.open(out / "training", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(InputError, match="another process trains"):
            train(tiny_plan(), out, resume=True)
    finally:
        os.close(held)
    assert train(tiny_plan(), out, resume=True).bundle is not None
