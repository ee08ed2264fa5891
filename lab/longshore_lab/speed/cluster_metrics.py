"""Read what a scheduler says about itself: counters and histograms of a Prometheus page."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Histogram(NamedTuple):
    """Counts up to bounds, added up from the lowest on, as Prometheus writes them."""

    bounds: tuple[float, ...]
    """Seconds, the last is infinite."""
    counts: tuple[float, ...]


def total(histograms: Iterable[Histogram]) -> Histogram:
    """Add up histograms that have the same bounds."""
    found = list(histograms)
    return Histogram(found[0].bounds, tuple(sum(counts) for counts in zip(*(one.counts for one in found), strict=True)))


def counter(page: str, name: str, **labels: str) -> float:
    """Return the value of a metric, added up over all series with these labels; 0 if there is none."""
    return sum(value for found, value in _samples(page, name) if labels.items() <= found.items())


def by_label(page: str, name: str, label: str) -> dict[str, float]:
    """Return the values of a counter by one of its labels; those that never counted are left out."""
    found: dict[str, float] = {}
    for labels, value in _samples(page, name):
        if value:
            found[labels[label]] = found.get(labels[label], 0.0) + value
    return found


def histogram(page: str, name: str) -> Histogram:
    """Return a histogram, added up over all its labels.

    Raises:
        KeyError: the page has none of that name.
    """
    counts: dict[float, float] = {}
    for labels, value in _samples(page, f"{name}_bucket"):
        bound = float(labels["le"])
        counts[bound] = counts.get(bound, 0.0) + value
    if not counts:
        raise KeyError(name)
    bounds = tuple(sorted(counts))
    return Histogram(bounds, tuple(counts[bound] for bound in bounds))


def quantile(measured: Histogram, share: float) -> float:
    """Estimate a quantile as Prometheus does: within its bucket the values lie evenly; NaN if there are none.

    What lies above the last finite bound is taken for that bound.
    """
    rank = share * measured.counts[-1]
    if not rank > 0:
        return math.nan
    low, below = 0.0, 0.0
    for bound, count in zip(measured.bounds, measured.counts, strict=True):
        if count >= rank:
            return low if math.isinf(bound) else low + (bound - low) * (rank - below) / (count - below)
        low, below = bound, count
    return low


def _samples(page: str, name: str) -> Iterable[tuple[dict[str, str], float]]:
    for line in page.splitlines():
        if line.startswith(name) and (found := _SAMPLE.fullmatch(line)) and found[1] == name:
            yield dict(_LABEL.findall(found[2] or "")), float(found[3])
