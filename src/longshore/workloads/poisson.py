"""Poisson arrivals with exponential lifetimes, pods of mixed sizes on equal nodes: the plain textbook load.

Nodes of 16 CPU / 64 GiB in three zones, with latencies between them that are assumed (`machines.ZONE_STEPS_MS`). Each
pod belongs to one of some applications (Deployments), popular ones more often. The rate follows from the load that is
wanted, unless it is given.
"""

from dataclasses import dataclass

from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.node import Node
from longshore.core.words.trace import Trace
from longshore.workloads.apps import make_apps, mean_share
from longshore.workloads.arrivals import poisson_creates
from longshore.workloads.base import check_range
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, make_node, numbered, zone_latencies

NODE_CPU, NODE_MEMORY_MIB = 16, 64 * GIB_IN_MIB
ZONES = ("zone-a", "zone-b", "zone-c")
PODS_PER_NODE = 60


@dataclass(frozen=True)
class Poisson:
    """Memoryless arrivals and departures."""

    nodes: int = 8
    """Nodes; eight are enough for placement to matter and few enough to read a trace by eye."""
    pods: int | None = None
    """Pods in all; None = 60 a node, about five lifetimes at the default load."""
    load: float = 0.6
    """Offered load: the mean share of CPU or memory, whichever is more, once arrivals and departures balance."""
    rate_per_second: float | None = None
    """Arrivals a second in the whole cluster; None = what brings `load`, so that it grows with the nodes."""
    mean_lifetime_seconds: float = 450.0
    """Mean lifetime; with 60 pods a node the trace then is about 40 minutes long, at every size."""
    apps: int = 12
    """Applications, each of one size; the number of classes that a policy meets."""

    def __post_init__(self) -> None:
        for field in ("nodes", "apps"):
            check_range(self, field, 1)
        if self.pods is not None:
            check_range(self, "pods", 1)
        if self.rate_per_second is not None:
            check_range(self, "rate_per_second", 0, above=True)
        check_range(self, "load", 0, above=True)
        check_range(self, "mean_lifetime_seconds", 0.001)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws sizes, arrivals and lifetimes. It ends with the last arrival."""
        draw = Draw("poisson", seed)
        apps = make_apps(draw, self.apps)
        nodes = tuple(_node(name, ZONES[i % len(ZONES)]) for i, name in enumerate(numbered("node", self.nodes)))
        rate = self.rate_per_second or self.load / (mean_share(apps, nodes) * self.mean_lifetime_seconds)
        creates = poisson_creates(
            draw,
            apps,
            count=self.nodes * PODS_PER_NODE if self.pods is None else self.pods,
            rate_per_second=rate,
            mean_lifetime_seconds=self.mean_lifetime_seconds,
        )
        events = tuple(creates)
        return Trace(nodes, events, controllers=tuple(app.controller for app in apps), end=events[-1].time)


def _node(name: str, zone: str) -> Node:
    return make_node(
        name,
        cpu=NODE_CPU,
        memory_mib=NODE_MEMORY_MIB,
        labels={ZONE_KEY: zone},
        zone_latency_ms=zone_latencies(ZONES, zone),
    )
