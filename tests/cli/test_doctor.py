"""Tests of `longshore doctor`: what counts as there, what is reported, and the exit code."""

import json
import sys
from pathlib import Path

import pytest
import typer

from longshore.cli import doctor

THERE = doctor.Probe("there", lambda: doctor.Found(True, "1.0"), True, "make there")
OPTIONAL = doctor.Probe("extra", lambda: doctor.Found(False, "not installed"), False, "make extra")
ESSENTIAL = doctor.Probe("base", lambda: doctor.Found(False, "not installed"), True, "make base")


def use_probes(monkeypatch: pytest.MonkeyPatch, *probes: doctor.Probe) -> None:
    monkeypatch.setattr(doctor, "all_probes", lambda: probes)


def test_missing_optional_parts_do_not_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_probes(monkeypatch, THERE, OPTIONAL)
    doctor.doctor()
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "everything that longshore needs is here; optional and missing: extra",
        "",
        "part   status  found",
        "there  ok      1.0",
        "",
        "extra: missing (optional): not installed",
        "  provided by: make extra",
    ]


def test_the_verdict_names_the_essential_parts_that_are_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_probes(monkeypatch, OPTIONAL, ESSENTIAL)
    with pytest.raises(typer.Exit):
        doctor.doctor()
    assert capsys.readouterr().out.startswith("longshore cannot run: base is missing\n")


def test_missing_essential_parts_exit_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_probes(monkeypatch, THERE, ESSENTIAL)
    with pytest.raises(typer.Exit) as caught:
        doctor.doctor(json_mode=True)
    assert caught.value.exit_code == 1
    payload = json.loads(capsys.readouterr().out)
    assert (payload["schema"], payload["ok"]) == (1, False)
    assert payload["checks"][1] == {
        "name": "base",
        "status": "missing",
        "detail": "not installed",
        "is_essential": True,
        "provided_by": "make base",
    }


def test_declared_packages_are_looked_for() -> None:
    packages = {name.lower() for name in doctor.required_packages()}
    assert {"numpy", "msgspec", "pyyaml", "typer", "rich"} <= packages
    assert not packages & {"jax", "pytest"}


def test_packages_are_found_by_their_version() -> None:
    assert doctor.find_package("pytest") == doctor.Found(True, pytest.__version__)
    assert not doctor.find_package("no-such-package").is_ok


def test_this_python_is_new_enough() -> None:
    assert doctor.find_python().is_ok


def test_programs_are_asked_for_their_version() -> None:
    assert doctor.find_program(("no-such-program", sys.executable), "--version").detail.startswith("Python 3.")
    assert doctor.find_program(("no-such-program",), "--version") == doctor.Found(False, "not on the PATH")


def test_programs_that_fail_or_do_not_run_are_missing(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho first >&2; echo cause >&2; exit 3\n")
    broken.chmod(0o755)
    assert doctor.find_program((str(broken),), "--version") == doctor.Found(False, "cause")
    broken.write_text("#!/no/such/interpreter\n")
    assert doctor.find_program((str(broken),), "--version").detail.startswith("does not run:")


def test_jax_keeps_64_bit_integers() -> None:
    found = doctor.find_jax()
    assert found.is_ok, found.detail
    assert found.detail.endswith("with int64")


def test_every_probe_names_what_provides_it() -> None:
    assert all(probe.provided_by for probe in doctor.all_probes())


def test_extras_are_those_of_users() -> None:
    extras = doctor.all_extras()
    assert {"train", "live", "notebook"} <= set(extras)
    assert not set(extras) & {"dev", "build"}
    assert "jax" in extras["train"]


def test_an_extra_names_what_it_lacks() -> None:
    assert doctor.find_extra(("pytest",)) == doctor.Found(True, "complete")
    assert doctor.find_extra(("pytest", "no-such-package")) == doctor.Found(False, "without no-such-package")


def test_a_kubeconfig_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = doctor.find_cluster()
    assert not found.is_ok
    assert "no cluster to speak to" in found.detail
    assert doctor.find_rights("list", "nodes") == doctor.Found(False, "nobody to ask: see `kubeconfig`")


def test_a_kubeconfig_says_which_cluster_it_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "{current-context: here, contexts: [{name: here, context: {cluster: c, user: u}}],"
        " clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: {token: x}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(config))
    found = doctor.find_cluster()
    assert found.is_ok
    assert found.detail.startswith("https://127.0.0.1:1, from ")
    assert not doctor.find_rights("list", "nodes").is_ok


def test_programs_and_rights_for_clusters_are_looked_for() -> None:
    names = [probe.name for probe in doctor.all_probes()]
    assert {"kubectl", "helm", "kubeconfig", "rights: read pods", "rights: bind pods", "extra live"} <= set(names)
