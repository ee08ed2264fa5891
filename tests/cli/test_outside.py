"""Commands warn where a cluster lies outside of a bundle's training."""

from pathlib import Path

import pytest

from longshore.cli import outside
from longshore.core.network.bundle import Envelope
from longshore.core.words.trace import Create, Trace
from longshore.policies.bundle_folder import write_folder
from support.builders import make_node, make_pod
from support.bundle_samples import FEATURES, make_bundle

TRACE = Trace((make_node("a").build(),), (Create(0.0, make_pod("p").cpu("1").build()),))


def bundle_at(folder: Path, low: float, high: float) -> str:
    write_folder(folder, make_bundle(envelope=Envelope((low,) * len(FEATURES), (high,) * len(FEATURES))))
    return str(folder)


def test_every_bundle_that_is_outside_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    far, near = bundle_at(tmp_path / "far", 2.0, 3.0), bundle_at(tmp_path / "near", -1.0, 1.0)
    outside.warn_outside_trace(["kube-default", far, near], TRACE)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {far} was not trained for clusters like this one: 100%")


def test_a_trace_is_not_looked_at_for_plain_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longshore.core.arrays.encode.encode", lambda *_: pytest.fail("looked at"))
    outside.warn_outside_trace(["kube-default", "best-fit"], TRACE)
