"""How measurements are shown: figures in tables, and how many cases are done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longshore.cli.output import note

_LINE_SECONDS = 30.0


def figure(cell: object) -> str:
    """Write a cell of a table of measurements: numbers that are not whole with three decimals, None as a dash."""
    if cell is None:
        return "-"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


@contextmanager
def counter(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes how many are done and how many failed."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn(what),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]} differ"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total, failed=0)
            yield lambda done, failed: bar.update(task, completed=done, failed=failed)
        return
    started = last = time.monotonic()

    def advance(done: int, failed: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_SECONDS:
            last = now
            left = (now - started) / done * (total - done)
            note(f"{what}: {done} of {total}, {failed} differ, about {left:.0f} s left")

    yield advance
