"""What a scheduler has to keep in a soak: rows, each with a figure and a bar. Pure."""

import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from longshore_lab.proof.checker import Report
from longshore_lab.soak.samples import Sample, growth_per_hour, p99_ratio, p99_seconds, steady

MAX_GROWTH: Final = 0.02
"""In an hour."""
MAX_GROWTH_SHORT: Final = 0.3
"""Between the medians of the thirds of a soak that is too short for a slope: Go's heap finds its size for minutes (22 %
in one of them), and only gross leaks are seen."""
MAX_FILES_SHORT: Final = 200
"""In a short soak: a hundred connections to the API server, kept for 90 s after each fault, and as many others.
One left open for each of more than a thousand bindings is seen."""
SHORT_SECONDS: Final = 900.0
MAX_P99_RATIO: Final = 1.25
_MAX_PRUNE_LAG: Final = 10_000
"""The log deletes old rows after so many new ones."""


class Row(NamedTuple):
    """One figure."""

    what: str
    figure: float
    bar: float
    """At most."""
    is_met: bool
    note: str = ""


def rows(samples: Sequence[Sample], filled_at: float, kept_decisions: int, report: Report, num_left: int) -> list[Row]:
    """Return the verdict.

    Args:
        samples: of the whole soak.
        filled_at: when all pods of the fill were bound.
        kept_decisions: what the decision log may hold.
        report: what the checker found.
        num_left: pods that were neither bound nor told why when everything was well again.
    """
    calm = steady(samples, filled_at)
    last = samples[-1]
    checked = f"{report.bindings} bindings, {report.evictions} evictions; {report.num_excused} excused"
    return [
        _memory(calm),
        _files(calm),
        _flat(calm),
        _row("decisions in the log", last.log_rows, kept_decisions + _MAX_PRUNE_LAG, f"{last.log_bytes / 1e6:.1f} MB"),
        _row("violations found by the checker", report.num_violations, 0, checked),
        _row("pods left without a node or a reason", num_left, 0),
    ]


def _row(what: str, figure: float, bar: float, note: str = "") -> Row:
    """Judge a figure; one that is no number misses every bar."""
    return Row(what, figure, bar, figure <= bar, note)


def _memory(calm: Sequence[Sample]) -> Row:
    values = [sample.memory_bytes for sample in calm]
    if not _is_short(calm):
        return _growth("resident memory", calm, values)
    third = max(len(values) // 3, 1)
    growth = statistics.median(values[-third:]) / statistics.median(values[:third]) - 1
    return _row("resident memory: growth, last third by first", growth, MAX_GROWTH_SHORT, _course(values))


def _files(calm: Sequence[Sample]) -> Row:
    values = [sample.num_files for sample in calm]
    if not _is_short(calm):
        return _growth("file descriptors", calm, values)
    return _row("file descriptors: most", max(values), MAX_FILES_SHORT, _course(values))


def _growth(what: str, calm: Sequence[Sample], values: Sequence[float]) -> Row:
    growth = growth_per_hour([sample.seconds for sample in calm], values)
    return _row(f"{what}: growth per hour", growth, MAX_GROWTH, _course(values))


def _is_short(calm: Sequence[Sample]) -> bool:
    return calm[-1].seconds - calm[0].seconds < SHORT_SECONDS


def _course(values: Sequence[float]) -> str:
    return f"{values[0]:.4g} → {values[-1]:.4g}"


def _flat(calm: Sequence[Sample]) -> Row:
    ratio = p99_ratio(calm)
    note = f"{1000 * p99_seconds(calm):.2f} ms of processor time"
    return _row("p99 of a decision, last third by first", ratio, MAX_P99_RATIO, note)
