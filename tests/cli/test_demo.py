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
    assert captured.out.count("energy-latency") == 2
    assert captured.out.count(str(policy)) == 2
    assert is_bundle(policy)
    assert "next:" in captured.err
    page = report.read_text()
    assert "test1" in page
    assert "test2" in page
