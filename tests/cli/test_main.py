"""Tests of the command line as a whole: lazy imports, exit codes, errors without tracebacks."""

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest

from longshore import __version__
from longshore.cli import main as cli_main

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
    monkeypatch.setattr(cli_main.metadata, "entry_points", lambda *, group: (entry,))
    assert run_main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_a_broken_package_does_not_take_our_commands_with_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = metadata.EntryPoint("greet", "cli.no_such_module:register", cli_main.COMMAND_GROUP)
    monkeypatch.setattr(cli_main.metadata, "entry_points", lambda *, group: (entry,))
    assert run_main(["--version"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"longshore {__version__}\n"
    assert "the command `greet` of cli.no_such_module:register cannot be loaded" in captured.err


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
