"""Tests of how measurements are shown."""

import pytest

from longshore_lab.commands import shown


def test_figure_shortens_what_is_not_whole():
    assert [shown.figure(cell) for cell in (1.23456, 7, "stock", None)] == ["1.235", "7", "stock", "-"]


def test_counter_writes_lines_to_stderr_when_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(shown, "_LINE_SECONDS", 0.0)
    with shown.counter("cases", 10) as advance:
        advance(5, 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cases: 5 of 10, 1 differ, about ")


def test_counter_is_quiet_between_lines(capsys: pytest.CaptureFixture[str]):
    with shown.counter("cases", 10) as advance:
        advance(5, 0)
    assert capsys.readouterr().err == ""
