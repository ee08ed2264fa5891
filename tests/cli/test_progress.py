"""Progress goes to stderr and leaves stdout alone."""

import pytest

from longshore.cli import progress


def test_counter_writes_lines_to_stderr_when_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    with progress.counter("cases", 10) as advance:
        advance(5, 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cases: 5 of 10, 1 differ, about ")


def test_counter_is_quiet_between_lines(capsys: pytest.CaptureFixture[str]):
    with progress.counter("cases", 10) as advance:
        advance(5, 0)
    assert capsys.readouterr().err == ""
