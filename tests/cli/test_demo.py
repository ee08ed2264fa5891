"""The demo, short: a policy is trained, both tests are played, a table each, one report, and what to try next."""

from pathlib import Path

import pytest

from longshore.cli import demo as module
from longshore.cli.main import main
from longshore.policies.bundle_folder import is_bundle


def test_demo_compares_both_tests_and_writes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(module, "DEFAULT_POLICIES", "kube-default,energy-latency")
    monkeypatch.setattr(module, "_STEPS", 2_000)
    report, policy = tmp_path / "report.html", tmp_path / "policy"
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--seeds", "3", "--report", str(report), "--out", str(policy)])
    assert not ended.value.code
    captured = capsys.readouterr()
    assert captured.out.startswith(f"test1: {policy} earns")
    assert captured.out.count(f"\n{policy} ") == captured.out.count("\nenergy-latency ") >= 2
    assert "watts_idle_off" in captured.out
    assert is_bundle(policy)
    assert "next:" in captured.err
    assert f"longshore models show {policy} " in captured.err
    page = report.read_text()
    assert "test1" in page
    assert "test2" in page


def test_demo_tells_where_longshore_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "longshore").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module.sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "")
    assert "`longshore` is `.venv/bin/longshore`; `source .venv/bin/activate` lets" in module.how_to_call()
    (folder / "longshore").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    assert module.how_to_call() == ""
