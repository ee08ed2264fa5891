"""Tests of groups of commands: help by task with whole sentences, names, completion by the shell."""

import os
import subprocess
import sys

import pytest
import typer

from longshore.cli.groups import add_group
from longshore.cli.main import COMMANDS, OTHERS, build_app, main


def help_of(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert not ended.value.code
    return capsys.readouterr().out


def test_help_has_the_commands_by_task(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys=capsys)
    headings = [text.index(f"\n{task}:\n") for task in (*COMMANDS, OTHERS)]
    assert headings == sorted(headings)
    assert headings[0] < text.index("\n  demo ") < headings[1] < text.index("\n  place ") < headings[2]


@pytest.mark.parametrize("group", ["", "models", "train", "bench", "cluster", "table"])
def test_help_cuts_no_sentence_off(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "..." not in help_of(*group.split(), capsys=capsys).partition("Options:")[2]


def shout_aloud() -> None:
    """Shout. Twice."""


def test_a_command_is_called_as_its_function(capsys: pytest.CaptureFixture[str]) -> None:
    app = build_app()
    add_group(app, "voice", "What can be heard.", shout_aloud, cry=shout_aloud)
    with pytest.raises(SystemExit):
        app(["voice", "--help"])
    text = capsys.readouterr().out
    assert "What can be heard." in text
    assert [line for line in text.splitlines() if "Shout" in line] == ["  cry          Shout.", "  shout-aloud  Shout."]


def test_a_group_of_one_command_keeps_its_name() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_group(app, "voice", "What can be heard.", shout_aloud)
    with pytest.raises(SystemExit) as ended:
        app(["voice", "shout-aloud"])
    assert not ended.value.code


@pytest.mark.parametrize(
    ("words", "want"),
    [("longshore pla", "place"), ("longshore models pu", "push\npull"), ("longshore train pp", "ppo")],
)
def test_a_shell_completes_commands(words: str, want: str) -> None:
    asked = {"_LONGSHORE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    script = "from longshore.cli.main import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == want
