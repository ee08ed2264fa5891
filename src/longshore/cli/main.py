"""The `longshore` command: its table of command modules, and how errors leave the process.

A command module has `register(app)`, which adds its commands. Modules named here are imported for every call, also for
`--help`, so at their top they import only what is light; NumPy and all that is heavier is imported inside functions.
Exit codes: 0 done, 1 failed, 2 bad usage or input.
"""

import contextlib
import errno
import io
import os
import sys
from typing import Annotated, Any

import typer

from longshore import __version__
from longshore.cli.groups import Group
from longshore.cli.output import printable
from longshore.core.words.errors import LongshoreError
from longshore.core.words.registry import Registry
from longshore.core.words.user_file import is_file_target

COMMANDS = {
    "First steps": ("longshore.cli.demo", "longshore.cli.doctor", "longshore.cli.listing", "longshore.cli.notebook"),
    "Your own cluster": (
        "longshore.cli.import_",
        "longshore.cli.place",
        "longshore.cli.record",
        "longshore.cli.top",
        "longshore.cli.workload",
    ),
    "Compare policies in the simulator": ("longshore.cli.compare", "longshore.cli.evaluate"),
    "Train policies and keep them": ("longshore.cli.train", "longshore.cli.sweep", "longshore.cli.models"),
    "Schedule": ("longshore.cli.schedule", "longshore.cli.decisions", "longshore.cli.config"),
}
"""The modules by task, in the order of `longshore --help`."""
OTHERS = "Of other packages (in a checkout: measurements, proofs, local clusters)"

COMMAND_GROUP = "longshore.commands"
"""Entry points of other packages, each a `register(app)`: the lab and the studies add theirs by it. A user's own stands
before its name: `longshore path/to/file.py:register NAME`."""

DEBUG_VARIABLE = "LONGSHORE_DEBUG"
"""Set to 1, a foreseen error shows its traceback instead of its message alone."""


def build_app(own: str | None = None) -> typer.Typer:
    """Return the application with every command of the table, those of other packages and, from a file, the user's own.

    Args:
        own: `path/to/file.py:register`.
    """
    app = typer.Typer(
        cls=Group,
        name="longshore",
        help="A Kubernetes scheduler that learns where pods go.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    modules = [module for task in COMMANDS.values() for module in task]
    commands = Registry("command", {module: f"{module}:register" for module in modules}, COMMAND_GROUP)
    for task, names in COMMANDS.items():
        for name in names:
            commands.load(name)(app)
        _mark(app, task)
    for name in commands.names()[len(modules) :]:
        _register_other(app, commands, name)
    _mark(app, OTHERS)
    if own is not None:
        commands.find(own)(app)
        _mark(app, "Your own")
    return app


def _mark(app: typer.Typer, task: str) -> None:
    """Note for the help what the commands serve that were added since the last call."""
    added: list[Any] = [*app.registered_commands, *app.registered_groups]
    for one in added:
        if not isinstance(one.rich_help_panel, str):
            one.rich_help_panel = task


def _register_other(app: typer.Typer, commands: Registry, name: str) -> None:
    """Add a command of another package; one that cannot be loaded must not take the others with it."""
    try:
        commands.load(name)(app)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with that package, our own commands work)
        reason = printable(error.message if isinstance(error, LongshoreError) else f"{type(error).__name__}: {error}")
        print(f"note: the command `{name}` of {commands.target(name)} cannot be loaded: {reason}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    _prepare_streams()
    try:
        code = _run(arguments)
        # Here, not at exit: then a failure is still ours to word.
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise  # about a file, and not about what we write to
        code = _give_up_on_output(error)
    sys.exit(code)


def _run(arguments: list[str] | None) -> int | str | None:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        own = given[0] if given and is_file_target(given[0]) else None
        build_app(own)(args=given[own is not None :], prog_name="longshore")
    except LongshoreError as error:
        return _fail(error)
    except ModuleNotFoundError as error:
        from longshore.core.words.extras import missing_extra

        missing = missing_extra(error)
        if missing is None:
            raise
        return _fail(missing)
    except SystemExit as ended:
        return ended.code
    return 0


def _fail(error: LongshoreError) -> int:
    """Print an error that was foreseen, and return the exit code."""
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        raise error
    text = printable(str(error), keep="\n")
    print(f"error: {text}", file=sys.stderr)
    return error.exit_code


def _prepare_streams() -> None:
    """Make sure that there are two streams which take every character."""
    if sys.stderr is None:  # closed by the caller; `print` would turn to stdout instead
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        sys.exit(1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without the character shows its number


def _give_up_on_output(error: OSError) -> int:
    """End with 1: quietly if the reader has gone, as `head` does, else with the reason."""
    if error.errno != errno.EPIPE:
        print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
    with contextlib.suppress(OSError):
        # What is still buffered cannot be written either; without this, Python tries at exit and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"longshore {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Hold the options that stand before a command."""
