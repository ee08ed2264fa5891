"""The `longshore` command: its table of command modules, and how errors leave the process.

A command module has `register(app)`, which adds its commands. Modules named here are imported for every call, also for
`--help`, so at their top they import only what is light; NumPy and all that is heavier is imported inside functions.
Exit codes: 0 done, 1 failed, 2 bad usage or input.
"""

import importlib
import os
import sys
from typing import Annotated

import typer

from longshore import __version__
from longshore.core.errors import LongshoreError

COMMANDS = (
    "longshore.cli.listing",
    "longshore.cli.doctor",
    "longshore.cli.import_",
    "longshore.cli.place",
    "longshore.cli.compare",
    "longshore.cli.bench",
)

DEBUG_VARIABLE = "LONGSHORE_DEBUG"
"""Set to 1, a foreseen error shows its traceback instead of its message alone."""


def build_app() -> typer.Typer:
    """Return the application with every command of the table."""
    # Plain help and tracebacks: rich's would cost its import on every call, and a log file shows boxes badly.
    app = typer.Typer(
        name="longshore",
        help="A Kubernetes scheduler that learns where pods go.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module_name in COMMANDS:
        importlib.import_module(module_name).register(app)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    try:
        build_app()(args=arguments, prog_name="longshore")
    except LongshoreError as error:
        if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


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
