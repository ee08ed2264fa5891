"""How commands speak: data on stdout, as text or as one JSON object; everything else on stderr."""

import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated

import typer

from longshore.core.words.text import shorten

SCHEMA_VERSION = 1
"""Version of the JSON objects; it goes up when a field changes its meaning or goes away, not when one is added."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
"""The type of every command's `json_mode` argument."""

UNBROKEN = 10_000
"""Columns for tables that go to a file or a pipe: wide enough that a line is never broken, so that `grep` works."""
WIDTH_WITHOUT_TERMINAL = 120
"""Columns that a table should fit in there all the same."""
_GAP, _SHORTEST_NAME = 2, 14


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


def write_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, names: Collection[int] = ()) -> None:
    """Print rows under headers, in columns as wide as their content.

    Names of nodes and pods, in the columns `names`, are cut in the middle where the table would be too wide; different
    ones stay different.
    """
    rows = _with_short_names(headers, rows, names)
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(Text(header), overflow="fold")
    for row in rows:
        # Text, not str: a name with square brackets is not markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else UNBROKEN)
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def write_wide_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, as several below one another where it would be too wide; the first column comes with each."""
    left = list(range(1, len(headers)))
    while left:
        size = len(left)
        while size > 1 and _width(*_columns(headers, rows, left[:size])) > table_width():
            size -= 1
        write_table(*_columns(headers, rows, left[:size]))
        left = left[size:]
        if left:
            print()


def _columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    kept = [0, *chosen]
    return [headers[column] for column in kept], [[row[column] for column in kept] for row in rows]


def table_width() -> int:
    """Return how many columns a table may have."""
    fallback = (WIDTH_WITHOUT_TERMINAL, 24)
    return shutil.get_terminal_size(fallback).columns if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL


def _with_short_names(
    headers: Sequence[str], rows: Sequence[Sequence[str]], names: Collection[int]
) -> Sequence[Sequence[str]]:
    """Cut names as little as lets the table fit."""
    found = {row[column] for row in rows for column in names}
    most, cut = max(map(len, found), default=0), rows
    while most > _SHORTEST_NAME and _width(headers, cut) > table_width():
        most -= 1
        short = shorten(found, most)
        cut = [[short[cell] if column in names else cell for column, cell in enumerate(row)] for row in rows]
    return cut


def _width(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns a table has."""
    return sum(max(map(len, column)) + _GAP for column in zip(headers, *rows, strict=True)) - _GAP


def printable(text: str, keep: str = "") -> str:
    """Write characters that steer a terminal or cannot be seen as escapes; names come from files of others."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def write_assumptions(sentences: Iterable[str]) -> None:
    """Say on stderr what was assumed."""
    for sentence in sentences:
        note(f"\nassumed: {sentence}")


def note(message: str) -> None:
    """Print progress or a remark on stderr, so that stdout stays data."""
    print(printable(message, keep="\n"), file=sys.stderr, flush=True)
