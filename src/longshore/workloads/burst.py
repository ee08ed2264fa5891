"""A calm Poisson load with bursts: now and then many pods of one application arrive within seconds.

The calm part is `poisson` at a lower load. The bursts are even over the trace with some jitter; their pods are small
and short-lived, as batch work is. They fill the queue, and show how fast and how well a policy empties it.
"""

from dataclasses import dataclass, replace

from longshore.core.words.trace import Create, Event, Trace
from longshore.workloads.apps import App, make_app
from longshore.workloads.arrivals import create
from longshore.workloads.base import check_range, in_order
from longshore.workloads.draw import Draw
from longshore.workloads.poisson import Poisson

BURST_PODS_PER_NODE = 20


@dataclass(frozen=True)
class Burst:
    """Calm, then everything at once."""

    nodes: int = 8
    """Nodes, as of `poisson`."""
    pods: int | None = None
    """Pods of the calm part; None = 60 a node, as of `poisson`."""
    load: float = 0.4
    """Offered load of the calm part; the rest is room for the bursts."""
    bursts: int = 5
    """How many bursts; five make a mean of them worth something."""
    burst_pods: int | None = None
    """Pods in each burst; None = 20 a node: 20 CPUs a node, more than is free, so that some must wait."""
    burst_seconds: float = 2.0
    """Seconds within which a burst arrives; short, as when a controller creates all pods of a Job."""
    burst_lifetime_seconds: float = 60.0
    """Mean lifetime of a burst's pods (exponential): short against the calm part's 450 s."""

    def __post_init__(self) -> None:
        check_range(self, "nodes", 1)
        for field in ("pods", "burst_pods"):
            if getattr(self, field) is not None:
                check_range(self, field, 1)
        check_range(self, "load", 0, above=True)
        check_range(self, "bursts", 0)
        check_range(self, "burst_seconds", 0)
        check_range(self, "burst_lifetime_seconds", 0.001)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws the calm part and when bursts come. It ends with the last arrival."""
        calm = Poisson(nodes=self.nodes, pods=self.pods, load=self.load).trace(seed)
        app = make_app("burst", cpu_millis=1000, memory_mib=1024)
        events: list[Event] = [*calm.events, *self._bursts(Draw("burst", seed), app, calm.end or 0.0)]
        ordered = in_order(events)
        return replace(calm, events=ordered, controllers=(*calm.controllers, app.controller), end=ordered[-1].time)

    def _bursts(self, draw: Draw, app: App, end: float) -> list[Create]:
        size = self.nodes * BURST_PODS_PER_NODE if self.burst_pods is None else self.burst_pods
        found = []
        for burst in range(self.bursts):
            # Within the middle half of its share of the trace, so that one burst is over before the next.
            start = end * (burst + draw.uniform(0.25, 0.75)) / self.bursts
            for number in range(size):
                time = start + draw.uniform(0.0, self.burst_seconds)
                lifetime = draw.exponential(self.burst_lifetime_seconds)
                found.append(create(time, app, burst * size + number, lifetime))
        return found
