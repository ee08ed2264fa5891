"""How the weights for scarce CPU are chosen and put into the bundles (benchmarks/openb_scarce.py)."""

import importlib
import json
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from safetensors.numpy import save_file

from longshore.core.errors import InputError
from longshore.core.forward import LOADS
from longshore.policies.bundle_folder import read_folder
from longshore.training.filling import WEIGHT
from longshore.training.filling_bundle import split

ROOT = Path(__file__).parents[1]
LEVELS = (80, 90, 100, 130)


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("openb_scarce")


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    for name in ("openb", "openb-power", "openb-nodes"):
        shutil.copytree(ROOT / "bundles" / name, tmp_path / "bundles" / name)
    return tmp_path / "bundles"


@pytest.fixture
def runs(tmp_path: Path, bundles: Path) -> Path:
    """Return a folder with one finished training, whose weights for scarce CPU are 1, and one that was cut short."""
    folder = tmp_path / "runs"
    folder.mkdir()
    tensors = {name: np.array(leaf) for name, leaf in split(read_folder(bundles / "openb"))["allocation"].items()}
    tensors[WEIGHT][:, 2 :: len(LOADS)] = 1
    for number in range(2):
        save_file(tensors, folder / f"scarce-{number}.safetensors")
    (folder / "scarce-0.json").write_text(json.dumps({"seed": 0, "seconds": 9.0, "device": "H"}))
    return folder


def earning(best: str, seen: list[str]):
    """Return what stands for playing: one of those that are tried earns more than the others."""

    def figures_on(_folder: Path, tried: dict[str, object], _seeds: range) -> dict[str, dict[str, float]]:
        seen.extend(tried)
        return {name: {f"allocated_{level}": 50.0 + (name == best) for level in LEVELS} for name in tried}

    return figures_on


def test_the_best_is_put_into_all_bundles_and_nothing_else_changes(
    scarce: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = {path.name: read_folder(path) for path in bundles.iterdir()}, []
    monkeypatch.setattr(scarce, "_figures_on", earning("scarce-0, 1.5 times", seen))
    scarce.select(Path("data"), Path("lists"), runs, bundles)
    assert set(seen) == {scarce.BEFORE, *(f"scarce-0, {times} times" for times in ("1", "1.25", "1.5", "2"))}
    for name, old in before.items():
        policy = read_folder(bundles / name)
        for goal, tensors in split(policy).items():
            was = split(old)[goal][WEIGHT]
            if goal == "allocation":
                assert (tensors[WEIGHT][:, 2 :: len(LOADS)] == 1.5).all()
                kept = np.arange(was.shape[1]) % len(LOADS) != 2
                np.testing.assert_array_equal(tensors[WEIGHT][:, kept], was[:, kept])
            else:
                np.testing.assert_array_equal(tensors[WEIGHT], was)
        assert policy.preference == old.preference
        assert "--seed 0 (9 s of an H), then select: scarce-0, 1.5 times" in policy.provenance["scarce_cpu"]
        assert (policy.metrics == old.metrics) == (name != "openb")


def test_what_is_not_better_leaves_the_bundles_alone(
    scarce: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in bundles.rglob("*") if path.is_file()}
    monkeypatch.setattr(scarce, "_figures_on", earning(scarce.BEFORE, []))
    scarce.select(Path("data"), Path("lists"), runs, bundles)
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_without_a_finished_training_is_refused_before_anything_is_played(
    scarce: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "scarce-0.json").unlink()
    seen: list[str] = []
    monkeypatch.setattr(scarce, "_figures_on", earning("", seen))
    with pytest.raises(InputError, match="without a finished training"):
        scarce.select(Path("data"), Path("lists"), runs, bundles)
    assert not seen
