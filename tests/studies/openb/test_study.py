"""The study's own steps: trainings that are logged, judged on lists and chosen."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file

from longshore.policies.bundle_folder import SHIPPED, read_folder
from longshore_studies.openb import study, training
from longshore_studies.openb.bundling import split
from longshore_studies.openb.tables.openb import POD_PREFIX, read_nodes
from studies.openb.tables.small_trace import TRACE, write_small_trace


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = write_small_trace(tmp_path / "data")
    (folder / f"{POD_PREFIX}{TRACE}.csv").rename(folder / f"{POD_PREFIX}default.csv")
    return folder


def test_log_keeps_the_best_tensors_and_goes_on_from_an_earlier_part(tmp_path: Path) -> None:
    results = SimpleNamespace(allocated=np.array([[1.234, 2.0]]))
    judged = SimpleNamespace(
        stage=0, generation=3, fitness=[0.12345], results=results, best=[{"weight": np.ones(2, np.float32)}]
    )
    for is_first in (True, False):
        log = study.Log(tmp_path, ["power-0"])
        log.add(judged)  # type: ignore[arg-type]
        log.write("log.json", 7, "plan", is_first=is_first)
    facts = json.loads((tmp_path / "log.json").read_text())
    assert (facts["seed"], facts["schedule"]) == (7, ["plan", "plan"])
    assert [row["fitness"] for row in facts["log"]] == [{"power-0": 0.123}] * 2
    assert facts["log"][0]["allocated"] == [[1.23, 2.0]]
    np.testing.assert_array_equal(load_file(tmp_path / "power-0.safetensors")["weight"], [1, 1])


def test_worth_weighs_lists_in_the_units_of_a_training(data: Path) -> None:
    nodes = read_nodes(data)
    found = {f"allocated_{level}": 0.0 for level in study.LEVELS} | {"allocated_100": 90.0, "nodes_20": 3.0}
    found |= {f"nodes_{level}": 0.0 for level in study.LEVELS if level != 20}
    at = {level: place for place, level in enumerate(study.LEVELS)}
    goal: training.Goal = {
        "allocated": tuple(2.0 if place == at[100] else 0.0 for place in at.values()),
        "nodes_on": tuple(-1.0 if place == at[20] else 0.0 for place in at.values()),
    }
    assert study.worth(goal, found, nodes) == pytest.approx(2 * 90 - 3 * 100 / len(nodes.names))


def test_refinement_can_begin_from_a_bundle(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(study, "refine", lambda *given, **_: started.append(sorted(given[6])[0]))
    bundle = SHIPPED / "openb"
    study.refine_all(data, tmp_path / "out", ["power-0"], 0, 1, bundle)
    assert len(started) == 1
    want = split(read_folder(bundle))["power"]
    got = load_file(tmp_path / "out" / "power-0.safetensors")
    assert {name: leaf.tobytes() for name, leaf in got.items()} == {
        name: np.ascontiguousarray(leaf).tobytes() for name, leaf in want.items()
    }
