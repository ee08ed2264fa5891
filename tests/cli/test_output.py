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


NODES = [f"ip-10-0-1-{number}.eu-central-1.compute.internal" for number in range(20, 26)]


def test_tables_cut_names_so_that_they_fit_and_stay_different(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_table(("pod", *"abcdef"), [("shop/web-1", *NODES), ("shop/web-2", *NODES)], names=range(7))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[1].split()[0] == "shop/web-1"
    assert [name[:12] for name in lines[1].split()[1:]] == [name[:12] for name in NODES]


def test_tables_that_fit_keep_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_table(("pod", "node"), [("shop/web-1", NODES[0])], names=(1,))
    assert NODES[0] in capsys.readouterr().out


def test_wide_tables_go_on_below(capsys: pytest.CaptureFixture[str]) -> None:
    headers = ("policy", *(f"column-{number}" for number in range(5)))
    output.write_wide_table(headers, [("best-fit", *("x" * 30,) * 5)])
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.splitlines()[0].split() == ["policy", "column-0", "column-1", "column-2"]
    assert second.splitlines()[0].split() == ["policy", "column-3", "column-4"]
    assert second.splitlines()[1].startswith("best-fit")


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
