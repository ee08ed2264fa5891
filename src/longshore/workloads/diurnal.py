"""A day in a mixed cluster: arrivals follow the clock, lifetimes are log-normal, a share of pods has constraints.

Four shapes of nodes in three zones with their own power curves, prices, taints and labels (`diurnal_nodes.py`).
Applications of mixed sizes; a share of them uses node affinity, tolerations, spread, pod affinity and anti-affinity,
host ports and latency limits (`diurnal_apps.py`): between them, every filter. Latencies follow the clock too: at the
busiest hour the far zone is beyond the hard limit.
"""

import math
from dataclasses import dataclass

from longshore.core.words.node import Node
from longshore.core.words.trace import Event, LatencyChange, Trace
from longshore.workloads.apps import App, mean_share
from longshore.workloads.arrivals import create
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.diurnal_apps import NAMESPACES, limit_rare, make_apps, make_services
from longshore.workloads.diurnal_nodes import ZONE_LATENCY_MS, choose_shapes, make_nodes, zone_of
from longshore.workloads.draw import Draw

DAY_SECONDS, HOUR_SECONDS = 86400.0, 3600.0
BUSIEST_HOUR = 14.0
LATENCY_SWING = 0.5
"""How far latency goes up and down with the clock, relative to its mean."""
PODS_PER_NODE = 125


@dataclass(frozen=True)
class Diurnal:
    """Everything at once, with a day's rhythm."""

    nodes: int = 16
    """Nodes, at least six: fewer have not every zone, taint and disk."""
    pods: int | None = None
    """Pods in all; None = 125 a node."""
    days: float = 1.0
    """Length in days; one shows the whole curve."""
    load: float = 0.5
    """Offered load: the mean share of CPU or memory, whichever is more; mean lifetimes follow from it and `pods`."""
    swing: float = 0.6
    """How far arrivals go up and down around their mean, 0 to 1; with 0.6 the peak is four times the trough."""
    lifetime_sigma: float = 1.2
    """Deviation of the lifetime's logarithm: a heavy tail, the longest percent is 16 times the median."""
    apps: int = 40
    """Applications, the number of classes that a policy meets."""
    constrained_share: float = 0.4
    """Share of the applications with constraints; 0.4 of 40 uses each trait at least once."""
    shapes: str = ""
    """Kinds of machines, separated by commas (`small,medium,large,old`); empty = all."""

    def __post_init__(self) -> None:
        check_range(self, "nodes", 6)
        check_range(self, "apps", 1)
        if self.pods is not None:
            check_range(self, "pods", 1)
        for field in ("days", "load", "lifetime_sigma"):
            check_range(self, field, 0, above=True)
        for field in ("swing", "constrained_share"):
            check_range(self, field, 0, 1)
        choose_shapes(self.shapes)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws machines, sizes, arrivals and lifetimes. It ends with the last day."""
        draw = Draw("diurnal", seed)
        apps, rare = make_apps(draw, self.apps, self.constrained_share)
        images = [app.spec.containers[0].image for app in apps]
        nodes = make_nodes(draw, self.nodes, images, choose_shapes(self.shapes))
        # Of a rare application, one pod to four nodes at a time: even at the busiest hour most of them find a place.
        num_running = self.load / mean_share(apps, nodes)
        apps = limit_rare(apps, rare, self.nodes / 4.0 / num_running)
        end = self.days * DAY_SECONDS
        return Trace(
            nodes=nodes,
            events=in_order([*self._latencies(nodes, end), *self._creates(draw, apps, nodes, end)]),
            namespaces=NAMESPACES,
            services=make_services(apps),
            controllers=tuple(app.controller for app in apps),
            end=seconds(end),
        )

    def _creates(self, draw: Draw, apps: tuple[App, ...], nodes: tuple[Node, ...], end: float) -> list[Event]:
        count = self.nodes * PODS_PER_NODE if self.pods is None else self.pods
        mean_lifetime = self.load * end / (count * mean_share(apps, nodes))
        weights = [app.weight for app in apps]
        # A Poisson process with a known number of arrivals is that many independent draws from its rate.
        times = sorted(self._arrival(draw, end) for _ in range(count))
        return [
            create(time, draw.weighted(apps, weights), number, draw.log_normal(mean_lifetime, self.lifetime_sigma))
            for number, time in enumerate(times)
        ]

    def _arrival(self, draw: Draw, end: float) -> float:
        while True:
            time = draw.uniform(0.0, end)
            if draw.uniform(0.0, 1.0 + self.swing) < 1.0 + self.swing * activity(time):
                return time

    def _latencies(self, nodes: tuple[Node, ...], end: float) -> list[Event]:
        return [
            LatencyChange(seconds(hour * HOUR_SECONDS), tuple((node.name, _latency(node, hour)) for node in nodes))
            for hour in range(math.ceil(end / HOUR_SECONDS))
        ]


def activity(time: float) -> float:
    """Return how busy the hour is: 1 at the busiest, -1 twelve hours later."""
    return math.cos(2.0 * math.pi * (time - BUSIEST_HOUR * HOUR_SECONDS) / DAY_SECONDS)


def _latency(node: Node, hour: int) -> float:
    return round(ZONE_LATENCY_MS[zone_of(node)] * (1.0 + LATENCY_SWING * activity(hour * HOUR_SECONDS)), 1)
