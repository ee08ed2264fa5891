"""How weights for special clusters are chosen and put into the bundles (`openb.special`)."""

import importlib
import json
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from longshore.core.network.bundle import Envelope
from longshore.core.network.forward import LOADS, POD_KINDS
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import SHIPPED, read_folder
from longshore_studies.openb.bundling import split, wider
from longshore_studies.openb.training import FEATURES, WEIGHT, by_load

LEVELS = (80, 90, 100, 130)
MET = Envelope((-3.0,) * len(FEATURES), (0.1,) * len(FEATURES))
"""What stands for the envelope of the drawn lists."""
Figures = dict[str, dict[str, float]]


@pytest.fixture
def special(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = importlib.import_module("longshore_studies.openb.special")
    monkeypatch.setattr(found, "read_nodes", lambda _folder: SimpleNamespace(gpu_capacity_milli=1000, names=["n"]))
    monkeypatch.setattr(found, "find_traces", lambda _folder: ["given"])
    monkeypatch.setattr(found, "read_pods", lambda _folder, _trace: None)
    monkeypatch.setattr(found, "envelope_of", lambda *_: MET)
    return found


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    for name in ("openb", "openb-power", "openb-nodes"):
        shutil.copytree(SHIPPED / name, tmp_path / "bundles" / name)
    return tmp_path / "bundles"


WHAT = pytest.mark.parametrize("what", ["scarce", "bound"])


def learnt(what: str) -> np.ndarray:
    """Say which weights [features, sets] are learnt."""
    row, load = np.arange(len(FEATURES))[:, None], np.arange(len(LOADS) * len(POD_KINDS)) % len(LOADS)
    if what == "scarce":
        return (row >= 0) & (load == LOADS.index("cpu scarce"))
    return (row == FEATURES.index("gpu_model_wanted")) & (load != LOADS.index("cpu scarce"))


@pytest.fixture
def runs(tmp_path: Path, bundles: Path) -> Path:
    """Return a folder with one finished training of each, whose weights are 1, and one that was cut short."""
    folder = tmp_path / "runs"
    folder.mkdir()
    tensors = by_load(split(read_folder(bundles / "openb"))["allocation"])
    for what in ("scarce", "bound"):
        trained = {**tensors, WEIGHT: np.where(learnt(what), 1, tensors[WEIGHT]).astype(np.float32)}
        for number in range(2):
            save_file(trained, folder / f"{what}-allocation-{number}.safetensors")
        log = json.dumps({"seed": 0, "seconds": 9.0, "device": "H"})
        (folder / f"{what}-allocation-0.json").write_text(log)
    return folder


def earning(best: str, seen: list[str]):
    """Return what stands for playing: one of those that are tried earns more than the others."""

    def figures_on(_folder: Path, _traces: object, tried: dict[str, object], _seeds: range) -> Figures:
        seen.extend(tried)
        return {name: {f"allocated_{level}": 50.0 + (name == best) for level in LEVELS} for name in tried}

    return figures_on


@WHAT
def test_the_best_is_put_into_all_bundles_and_nothing_else_changes(
    what: str, special: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = {path.name: read_folder(path) for path in bundles.iterdir()}, []
    best = f"{what}-allocation-0, 1.5 times"
    monkeypatch.setattr(special, "_figures_on", earning(best, seen))
    special.select(what, Path("data"), Path("lists"), runs, bundles)
    tried = {f"{what}-allocation-0, {times} times" for times in ("1", "1.25", "1.5", "2")}
    assert set(seen) >= {special.BEFORE, *tried}
    for name, old in before.items():
        policy = read_folder(bundles / name)
        for goal, tensors in split(policy).items():
            was, now = by_load(split(old)[goal])[WEIGHT], by_load(tensors)[WEIGHT]
            want = np.where(learnt(what), 1.5, was) if goal == "allocation" else was
            np.testing.assert_array_equal(now, want.astype(np.float32))
        assert policy.preference == old.preference
        provenance = policy.provenance[special.SPECIALS[what].provenance]
        assert f"train {what}, then select: allocation: {best} (9 s of an H); 5 were tried" in provenance
        assert (policy.metrics == old.metrics) == (name != "openb")
        assert policy.envelope == wider(old.envelope, MET)


@WHAT
def test_what_another_selection_put_into_the_bundle_since_the_training_stays(
    what: str, special: ModuleType, bundles: Path, runs: Path
) -> None:
    before = by_load(split(read_folder(bundles / "openb"))["allocation"])
    changed = {**before, WEIGHT: np.where(learnt(what), before[WEIGHT], 7).astype(np.float32)}
    tried, _ = special._candidates(special.SPECIALS[what], f"{what}-allocation", runs, changed)
    got = tried[f"{what}-allocation-0, 2 times"]
    np.testing.assert_array_equal(got[WEIGHT], np.where(learnt(what), 2, 7))
    for name in set(before) - {WEIGHT}:
        np.testing.assert_array_equal(got[name], before[name])


@WHAT
def test_what_is_not_better_leaves_the_bundles_alone(
    what: str, special: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in bundles.rglob("*") if path.is_file()}
    monkeypatch.setattr(special, "_figures_on", earning(special.BEFORE, []))
    special.select(what, Path("data"), Path("lists"), runs, bundles)
    assert {path: path.read_bytes() for path in before} == before


@WHAT
def test_a_folder_without_a_finished_training_is_refused_before_anything_is_played(
    what: str, special: ModuleType, bundles: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / f"{what}-allocation-0.json").unlink()
    seen: list[str] = []
    monkeypatch.setattr(special, "_figures_on", earning("", seen))
    with pytest.raises(InputError, match=f"without a finished training of {what}-allocation"):
        special.select(what, Path("data"), Path("lists"), runs, bundles)
    assert not seen


@WHAT
def test_a_training_begins_from_nothing_and_searches_its_weights_alone(
    what: str, special: ModuleType, bundles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[np.ndarray, dict[str, object]]] = []

    def refine(*given: object, **how: object) -> None:
        start, on_judged = given[6:8]
        assert callable(on_judged)
        asked.append((start[WEIGHT], how))  # type: ignore[index]

    monkeypatch.setattr(special, "refine", refine)
    monkeypatch.setattr(special, "model_sets", lambda _data: [])
    special.train(what, Path("data"), tmp_path / "out", bundles / "openb", 3, 1)
    ((start, how),) = asked
    was = by_load(split(read_folder(bundles / "openb"))["allocation"])[WEIGHT]
    np.testing.assert_array_equal(start, np.where(learnt(what), 0, was))
    assert how["moves"] == ([[0, 0, 1]] if what == "scarce" else [[1, 0, 0], [0, 1, 0]])
    assert (tmp_path / "out" / f"{what}-allocation-3.json").exists()
