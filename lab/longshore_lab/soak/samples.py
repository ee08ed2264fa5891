"""What is measured of the scheduler's process every few seconds, and how it grows. Pure but for reading `/proc`."""

import itertools
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longshore_lab.speed.cluster_metrics import Histogram, quantile

MINUTE = 60.0


@dataclass(frozen=True)
class Sample:
    """The process at one moment."""

    seconds: float
    """Since the soak began."""
    memory_bytes: int
    """Resident."""
    num_files: int
    """Open file descriptors."""
    decisions: Histogram
    """Processor seconds of all decisions so far."""
    log_rows: int
    log_bytes: int
    num_pending: int


def memory_of(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def num_files_of(pid: int) -> int:
    """Return how many file descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def steady(samples: Sequence[Sample], filled_at: float) -> list[Sample]:
    """Return the samples after the fill, without the first fifth of them: caches and pools find their size there."""
    after = [sample for sample in samples if sample.seconds >= filled_at]
    return after[len(after) // 5 :]


def growth_per_hour(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the growth in an hour as a share of the median, by Theil and Sen's slope: single peaks do not count."""
    middle = statistics.median(values)
    slopes = [
        (later - earlier) / (end - begin)
        for (begin, earlier), (end, later) in itertools.combinations(zip(times, values, strict=True), 2)
        if end > begin
    ]
    return statistics.median(slopes) * 3600 / middle if slopes and middle else 0.0


def p99_seconds(samples: Sequence[Sample]) -> float:
    """Return the 99th percentile of the decisions that were made between the first sample and the last."""
    first, last = samples[0].decisions, samples[-1].decisions
    made = tuple(after - before for before, after in zip(first.counts, last.counts, strict=True))
    return quantile(Histogram(last.bounds, made), 0.99)


def p99_ratio(samples: Sequence[Sample]) -> float:
    """Return the p99 of the median minute of the last third by that of the first: a minute with a fault is no drift."""
    third = len(samples) // 3
    if third < 2:
        return math.nan
    return _median_p99(samples[-third:]) / _median_p99(samples[:third])


def _median_p99(samples: Sequence[Sample]) -> float:
    """Return the median over the whole minutes; of less than two, the p99 of all."""
    minutes: list[list[Sample]] = [[samples[0]]]
    for sample in samples[1:]:
        minutes[-1].append(sample)
        if sample.seconds - minutes[-1][0].seconds >= MINUTE:
            minutes.append([sample])
    whole = [p99_seconds(minute) for minute in minutes[:-1]]
    return statistics.median(whole) if len(whole) > 1 else p99_seconds(samples)
