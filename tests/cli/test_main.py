"""Tests of the command line as a whole: lazy imports, exit codes, errors without tracebacks."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer

from longshore import __version__
from longshore.cli import main as cli_main
from longshore.cli.flags import plan_flags

HEAVY_PACKAGES = ("jax", "scipy", "sqlalchemy", "starlette", "numpy", "rich", "msgspec")


def run_main(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        cli_main.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize("arguments", [["--help"], ["list", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from longshore.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "finally:\n"
        f"    heavy = [name for name in {HEAVY_PACKAGES!r} if name in sys.modules]\n"
        "    print('heavy:', heavy, file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stderr == "heavy: []\n"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["--version"]) == 0
    assert capsys.readouterr().out == f"longshore {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "list" in out
    assert "doctor" in out


def test_other_packages_add_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    entry = metadata.EntryPoint("greet", "cli.other_commands:register", cli_main.COMMAND_GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: (entry,))
    assert run_main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_a_broken_package_does_not_take_our_commands_with_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = metadata.EntryPoint("greet", "cli.no_such_module:register", cli_main.COMMAND_GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: (entry,))
    assert run_main(["--version"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"longshore {__version__}\n"
    assert "the command `greet` of cli.no_such_module:register cannot be loaded" in captured.err


def test_a_users_own_command_stands_behind_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).with_name("other_commands.py")
    assert run_main([f"{file}:register", "greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert run_main([f"{file}:regster", "greet"]) == 2
    assert "did you mean `register`" in capsys.readouterr().err


def test_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["docter"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Did you mean 'doctor'" in captured.err


def test_unknown_option_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["doctor", "--jsn"]) == 2
    assert "--json" in capsys.readouterr().err


def test_foreseen_errors_show_no_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cli_main.DEBUG_VARIABLE, raising=False)
    assert run_main(["list", "filtres"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: unknown list `filtres`; expected one of: `filters`")
    assert captured.err.endswith("hint: did you mean `filters`?\n")


def test_debug_variable_shows_the_traceback() -> None:
    command = [sys.executable, "-c", "from longshore.cli.main import main; main(['list', 'filtres'])"]
    result = subprocess.run(command, capture_output=True, text=True, env={cli_main.DEBUG_VARIABLE: "1"}, check=False)
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "UnknownNameError" in result.stderr


def run_in_shell(script: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run `longshore` as `$L` in a shell, where streams can be closed, full or of another locale."""
    command = f"{sys.executable} -c 'from longshore.cli.main import main; main()'"
    return subprocess.run(
        ["/bin/bash", "-c", f'L() {{ {command} "$@"; }}; {script}'],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_full_disk_is_one_sentence() -> None:
    result = run_in_shell("L list objectives > /dev/full")
    assert (result.returncode, result.stderr) == (1, b"error: cannot write the output: No space left on device\n")


def test_a_closed_output_is_one_sentence() -> None:
    result = run_in_shell("L list objectives >&-")
    assert (result.returncode, result.stderr) == (1, b"error: standard output is closed\n")


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    result = run_in_shell("L list objectives --json | true; exit ${PIPESTATUS[0]}")
    assert result.stderr == b""
    assert result.returncode in (0, 1)  # 0: it was faster than the reader


def test_a_closed_error_stream_leaves_the_data_alone() -> None:
    result = run_in_shell("L list filtres 2>&-")
    assert (result.returncode, result.stdout) == (2, b"")


OLD_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_locale_without_the_character_shows_its_number() -> None:
    result = run_in_shell("L list objectives", **OLD_LOCALE)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"int(10 \\xb7 unused / workers)" in result.stdout


def test_json_is_utf8_in_every_locale() -> None:
    result = run_in_shell("L list objectives --json", **OLD_LOCALE)
    assert "int(10 · unused / workers)" in json.loads(result.stdout.decode("utf-8"))["units"][0]["description"]


def test_errors_show_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["list", "\x1b[31mfilters"]) == 2
    assert "unknown list `\\x1b[31mfilters`" in capsys.readouterr().err


UNTIL_STOPPED = {"schedule", "top", "tensorboard", "models serve"}
"""Commands that do not end by themselves, so that one object of JSON says nothing about them."""
OWN_SEEDS = ("train ", "sweep", "bench ", "table ")
"""Commands whose seeds are something else: trainings, or those of a published table."""


def commands() -> dict[str, Any]:
    """Return every command by its words."""
    found: dict[str, Any] = {}
    left = [((), typer.main.get_command(cli_main.build_app()))]
    while left:
        words, command = left.pop()
        if not hasattr(command, "list_commands"):
            found[" ".join(words)] = command
            continue
        context = typer.Context(command)
        left += [((*words, name), command.get_command(context, name)) for name in command.list_commands(context)]
    return found


def test_every_command_that_ends_speaks_json() -> None:
    without = {
        name for name, command in commands().items() if not any("--json" in option.opts for option in command.params)
    }
    assert without == UNTIL_STOPPED


def test_objective_and_seeds_have_one_default() -> None:
    objectives = {"train and sweep": plan_flags()["objective"].default}  # their flags say nothing by themselves
    seeds = {}
    for name, command in commands().items():
        for option in command.params:
            if option.name == "objective" and option.default is not None:
                objectives[name] = option.default
            if option.name == "seeds" and not name.startswith(OWN_SEEDS):
                seeds[name] = option.default
    assert set(objectives.values()) == {"el-rl"}, objectives
    assert {"compare", "simulate", "place", "workload run"} <= set(objectives)
    assert set(seeds.values()) == {12}, seeds
    assert set(seeds) >= {"compare", "evaluate", "demo"}
