"""Tests of mount namespaces: the commands, and that only empty places are removed."""

from pathlib import Path

import pytest

from longshore_lab.cluster.real import mounts


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Note commands instead of running them."""
    noted: list[list[str]] = []
    monkeypatch.setattr(mounts, "run", noted.append)
    monkeypatch.setattr(mounts, "run_anyway", noted.append)
    return noted


@pytest.fixture
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Give other places than the machine's."""
    places = {"a": tmp_path / "lib" / "a", "b": tmp_path / "lib" / "b"}
    monkeypatch.setattr(mounts, "FIXED", places)
    return places


def test_every_fixed_place_becomes_a_folder_of_the_node(
    tmp_path: Path, commands: list[list[str]], fixed: dict[str, Path]
) -> None:
    (tmp_path / "run").mkdir()
    mounts.create_namespace(tmp_path / "run" / "mounts", tmp_path / "node")
    (command,) = commands
    assert command[:3] == ["unshare", f"--mount={tmp_path / 'run' / 'mounts'}", "--propagation=private"]
    own = tmp_path / "node" / "fixed"
    assert command[-4:] == [str(own / "a"), str(fixed["a"]), str(own / "b"), str(fixed["b"])]
    assert all(path.is_dir() for path in (own / "a", own / "b", *fixed.values()))


def test_places_that_others_use_stay(tmp_path: Path, commands: list[list[str]], fixed: dict[str, Path]) -> None:
    for place in fixed.values():
        place.mkdir(parents=True)
    (fixed["b"] / "somebody's").touch()
    (tmp_path / "run" / "0").mkdir(parents=True)
    (tmp_path / "run" / "0" / "mounts").touch()
    mounts.remove(tmp_path / "run")
    assert not fixed["a"].exists()
    assert fixed["b"].exists()
    assert commands == [["umount", str(tmp_path / "run" / "0" / "mounts")], ["umount", str(tmp_path / "run")]]


def test_the_folder_of_namespaces_is_not_shared(tmp_path: Path, commands: list[list[str]]) -> None:
    mounts.create_run_folder(tmp_path / "run")
    assert commands[-1] == ["mount", "--make-private", str(tmp_path / "run")]
