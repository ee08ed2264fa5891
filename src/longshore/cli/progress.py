"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from longshore.cli.output import note

if TYPE_CHECKING:
    from rich.progress import TaskID

    from longshore.training.run.loop import Report

_TRAINING_LINE_SECONDS = 5.0


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much of it is done and how much there is."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            tasks: dict[str, TaskID] = {}

            def show(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            yield show
        return
    told: set[str] = set()

    def tell(what: str, _done: int, total: int) -> None:
        if what not in told:
            told.add(what)
            note(f"{what} ({total}) …")

    yield tell


@contextmanager
def training() -> "Iterator[tuple[Callable[[Report], None], Callable[[str], None]]]":
    """Yield a function that takes how far a training is, and one that takes remarks."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        told = TextColumn("{task.fields[told]}")
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), told)
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("training", total=1.0, told="")
            yield (
                lambda report: bar.update(task, completed=report.share, told=training_line(report)),
                lambda remark: bar.update(task, told=remark),
            )
        return
    last = 0.0

    def advance(report: "Report") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _TRAINING_LINE_SECONDS:
            last = now
            note(f"{report.share:4.0%}  {training_line(report)}")

    yield advance, lambda remark: note(f"{remark} …")


def training_line(report: "Report") -> str:
    """Say how a training stands, in a line."""
    scalars = report.record.scalars
    parts = [
        f"{scalars['steps_per_second']:,.0f} steps/s",
        f"return {scalars['return']:.5g}",
        f"best {report.best:.5g}",
    ]
    if report.seconds_left == report.seconds_left:
        parts.append(f"{report.seconds_left:.0f} s left")
    return ", ".join(parts)
