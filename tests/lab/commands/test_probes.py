"""What `longshore doctor` finds of the lab."""

from pathlib import Path

import pytest

from longshore.cli import doctor
from longshore.cli.doctor import Found
from longshore_lab import build
from longshore_lab.commands.probes import find_oracle


def test_doctor_looks_for_the_parts_of_the_lab() -> None:
    assert {"go", "oracle"} <= {probe.name for probe in doctor.all_probes()}


def test_oracle_counts_once_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = tmp_path / "oracle"
    monkeypatch.setattr(build, "program_path", lambda _name: oracle)
    assert find_oracle() == Found(False, "not built")
    oracle.touch()
    assert find_oracle() == Found(True, str(oracle))


def test_oracle_is_missing_where_its_source_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SOURCE", tmp_path / "controlplane")
    found = find_oracle()
    assert not found.is_ok
    assert "a clone of the repository" in found.detail
