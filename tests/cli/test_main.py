"""Tests of the command line as a whole: lazy imports, exit codes, errors without tracebacks."""

import subprocess
import sys

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


def test_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["docter"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Did you mean 'doctor'?" in captured.err


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
