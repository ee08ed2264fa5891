"""Arrivals of applications' pods: which application comes next, when, and for how long it stays."""

from collections.abc import Iterator, Sequence

from longshore.core.words.trace import Create
from longshore.workloads.apps import App
from longshore.workloads.base import seconds
from longshore.workloads.draw import Draw

SHORTEST_LIFETIME_SECONDS = 0.001


def poisson_creates(
    draw: Draw, apps: Sequence[App], *, count: int, rate_per_second: float, mean_lifetime_seconds: float
) -> Iterator[Create]:
    """Yield pods in a Poisson process with exponential lifetimes."""
    weights = [app.weight for app in apps]
    time = 0.0
    for number in range(count):
        time += draw.exponential(1.0 / rate_per_second)
        app = draw.weighted(apps, weights)
        yield create(time, app, number, draw.exponential(mean_lifetime_seconds))


def create(time: float, app: App, number: int, lifetime_seconds: float) -> Create:
    """Make the event: whole milliseconds, and no pod that has ended before it began."""
    return Create(seconds(time), app.pod(number), max(seconds(lifetime_seconds), SHORTEST_LIFETIME_SECONDS))
