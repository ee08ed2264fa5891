"""Tests of how commands speak: JSON objects, tables, notes."""

import json
from typing import NamedTuple

import pytest

from longshore.cli import output


class Row(NamedTuple):
    """Something that a command might put into its payload."""

    name: str
    value: float


def test_json_mode_prints_one_object_with_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit(True, {"rows": [Row("a", 0.5)._asdict()], "worst": None}, lambda: pytest.fail("must not render"))
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"schema": 1, "rows": [{"name": "a", "value": 0.5}], "worst": None}


def test_text_mode_renders(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit(False, {"unused": 1}, lambda: output.write_table(("text",), []))
    assert capsys.readouterr().out == "text\n"


def test_tables_align_and_never_break_lines_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_table(("name", "about"), [("a", "x" * 300), ("longer [bold]", "y")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].index("about") == lines[1].index("x") == lines[2].index("y")
    assert lines[2].startswith("longer [bold]")
    assert all(line == line.rstrip() for line in lines)


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("working")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "working\n")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("worker-1", "worker-1"),
        ("straße 🚀 [bold]", "straße 🚀 [bold]"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\tc\x00", "a\\nb\\tc\\x00"),
        ("a\u202eb", "a\\u202eb"),
        ("a\ud800", "a\\ud800"),
    ],
)
def test_characters_that_steer_a_terminal_are_escaped(text: str, want: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output.printable(text) == want
    output.write_table(("name",), [(text,)])
    assert capsys.readouterr().out == f"name\n{want}\n"


def test_notes_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("one\ntwo\x1b[2J")
    assert capsys.readouterr().err == "one\ntwo\\x1b[2J\n"


def test_figure_shortens_what_is_not_whole():
    assert [output.figure(cell) for cell in (1.23456, 7, "stock", None)] == ["1.235", "7", "stock", "-"]
