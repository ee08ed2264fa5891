"""Tests of what real nodes need of a machine, and of how it is said."""

import os
from pathlib import Path

import pytest

from longshore.core.words.errors import ComponentMissingError, LongshoreError
from longshore_lab.cluster.real import host


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a machine that has everything: root, all programs, the network programs."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "cni").mkdir()
    for path in (*(tmp_path / "bin" / name for name in host.PACKAGES), tmp_path / "cni" / "bridge"):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(host, "CNI_PROGRAMS", tmp_path / "cni")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


@pytest.mark.usefixtures("machine")
def test_a_machine_with_everything_passes() -> None:
    host.check_host()


@pytest.mark.usefixtures("machine")
def test_without_root_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LongshoreError, match=r"real nodes need root(.|\n)*leave `--real-nodes` away"):
        host.check_host()


def test_what_is_missing_comes_with_the_line_that_installs_it(machine: Path) -> None:
    for name in ("containerd", "ctr", "runc"):
        (machine / "bin" / name).unlink()
    (machine / "cni" / "bridge").unlink()
    with pytest.raises(ComponentMissingError) as caught:
        host.check_host()
    assert caught.value.provided_by == "apt-get install containerd runc containernetworking-plugins"
    assert "runc" in caught.value.component


def test_a_tag_is_short_and_differs_by_folder() -> None:
    tags = {host.tag_of(Path(f"/clusters/{name}")) for name in "abcdefgh"}
    assert {len(tag) for tag in tags} == {6}
    assert len(tags) == 8
    assert host.tag_of(Path("/clusters/a")) == host.tag_of(Path("/clusters/a"))


def test_a_command_that_fails_says_what_it_said() -> None:
    with pytest.raises(LongshoreError, match="`sh -c echo bad >&2; exit 3` failed: bad"):
        host.run(["sh", "-c", "echo bad >&2; exit 3"])
    host.run_anyway(["sh", "-c", "exit 3"])
    assert host.run(["sh", "-c", "echo good"]) == "good\n"
