"""How commands speak: data on stdout, as text or as one JSON object; everything else on stderr."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

SCHEMA_VERSION = 1
"""Version of the JSON objects; it goes up when a field changes its meaning or goes away, not when one is added."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
"""The type of every command's `json_mode` argument."""

WIDTH_WITHOUT_TERMINAL = 10_000
"""Columns for tables that go to a file or a pipe: wide enough that a line is never broken, so that `grep` works."""


def emit(json_mode: bool, payload: Mapping[str, object], render: Callable[[], None]) -> None:
    """Print `payload` as one JSON object with a `schema` field, or call `render`, which prints text.

    The payload may hold what msgspec encodes: plain values, dataclasses, named tuples and structs, but no arrays.
    """
    if not json_mode:
        render()
        return
    import msgspec

    data = msgspec.json.encode({"schema": SCHEMA_VERSION, **payload}) + b"\n"
    # As bytes: JSON is UTF-8, whatever the locale says.
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers, in columns as wide as their content."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(Text(header), overflow="fold")
    for row in rows:
        # Text, not str: a name with square brackets is not markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def figure(cell: object) -> str:
    """Write a cell of a table of measurements: numbers that are not whole with three decimals, None as a dash."""
    if cell is None:
        return "-"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def printable(text: str, keep: str = "") -> str:
    """Write characters that steer a terminal or cannot be seen as escapes; names come from files of others."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def note(message: str) -> None:
    """Print progress or a remark on stderr, so that stdout stays data."""
    print(printable(message, keep="\n"), file=sys.stderr, flush=True)
