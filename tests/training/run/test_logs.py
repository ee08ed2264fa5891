"""Logs: what a record holds, and that each sink is given it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from longshore.core.words.errors import ComponentMissingError
from longshore.training.run import logs
from longshore.training.run.logs import (
    JsonLines,
    Record,
    TensorBoard,
    make_record,
    mlflow,
    read_log,
    weights_and_biases,
)
from longshore.training.run.plan import Plan

PLAN = Plan()
FIGURES = {
    "return": np.array([1.0, 3.0]),
    "loss": np.array([0.5, np.nan]),
    "decided": np.array([90, 80]),
    "actions": np.array([[0.25, 0.75], [0.75, 0.25]]),
}


def record(chunk: int) -> Record:
    return make_record(chunk, 2.0 * chunk, 100.0, FIGURES, {"random": 0.5})


def test_a_record_has_means_each_seeds_own_and_the_baselines():
    found = record(1)
    assert found.decided == 80
    assert found.scalars["return"] == 2.0
    assert found.seeds["return"] == [1.0, 3.0]
    assert found.scalars["baseline/random"] == 0.5
    assert found.scalars["steps_per_second"] == 100.0
    assert found.actions == [0.5, 0.5]
    assert "actions" not in found.scalars


def test_json_lines_are_json_and_what_is_not_a_number_is_null(tmp_path: Path):
    sink = JsonLines(tmp_path, PLAN, 0)
    sink.write(record(1))
    sink.close()
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    assert json.loads(line)["scalars"]["loss"] is None


def test_a_run_that_goes_on_drops_what_came_after_its_checkpoint(tmp_path: Path):
    first = JsonLines(tmp_path, PLAN, 0)
    for chunk in (1, 2, 3):
        first.write(record(chunk))
    first.close()
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"chunk": 4, "deci')  # the machine went down
    second = JsonLines(tmp_path, PLAN, 2)
    second.write(record(3))
    second.close()
    assert [one["chunk"] for one in read_log(tmp_path / "log.jsonl")] == [1, 2, 3]


def test_a_new_run_begins_a_new_log(tmp_path: Path):
    for _ in range(2):
        sink = JsonLines(tmp_path, PLAN, 0)
        sink.write(record(1))
        sink.close()
    assert len(read_log(tmp_path / "log.jsonl")) == 1


def test_tensorboard_gets_scalars_and_the_histogram(tmp_path: Path):
    sink = TensorBoard(tmp_path, PLAN, 0)
    sink.write(record(1))
    sink.close()
    (events,) = (tmp_path / "tensorboard").glob("events.out.tfevents.*")
    data = events.read_bytes()
    for tag in (b"return", b"baseline/random", b"steps_per_second", b"actions"):
        assert tag in data, tag


class Calls:
    """A package that writes down how it is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, arguments, named))
            return SimpleNamespace(log=self.log, finish=self.finish) if name == "init" else None

        return called


def test_weights_and_biases_gets_plan_and_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    package = Calls()
    monkeypatch.setitem(sys.modules, "wandb", package)
    sink = weights_and_biases("ships")(tmp_path / "mine" / "training", PLAN, 0)
    sink.write(record(1))
    sink.close()
    (opened, logged, finished) = package.calls
    assert (opened[0], opened[2]["project"], opened[2]["config"]) == ("init", "ships", PLAN.to_json())
    assert (logged[0], logged[1][0]["return"], logged[2]) == ("log", 2.0, {"step": 80})
    assert logged[1][0]["actions/1"] == 0.5
    assert finished[0] == "finish"


def test_mlflow_gets_plan_and_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    package = Calls()
    monkeypatch.setitem(sys.modules, "mlflow", package)
    sink = mlflow("http://tracking:5000")(tmp_path / "mine" / "training", PLAN, 0)
    sink.write(record(1))
    sink.close()
    assert [name for name, _, _ in package.calls] == [
        "set_tracking_uri",
        "start_run",
        "log_params",
        "log_metrics",
        "end_run",
    ]
    assert package.calls[0][1] == ("http://tracking:5000",)
    assert package.calls[3][2] == {"step": 80}


@pytest.mark.parametrize(
    ("package", "ask"),
    [
        ("tensorboardX", lambda folder: logs.TensorBoard(folder, PLAN, 0)),
        ("wandb", lambda _: weights_and_biases("x")),  # asked for is enough: nothing is prepared in vain
        ("mlflow", lambda _: mlflow("x")),
    ],
)
def test_a_sink_that_is_not_installed_says_how_to_get_it(
    package: str, ask: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ComponentMissingError, match=rf"`{package}` is missing[\s\S]*pip install"):
        ask(tmp_path)
