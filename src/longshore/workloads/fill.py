"""Pods that come and stay, on machines of several kinds: packing without departures, where the optimum can be solved.

The shapes of machines and their power curves are those of `diurnal_nodes.py`, without its taints and labels. Pods of
mixed sizes come one by one until the load is met; then everything is deleted, and it begins again.
"""

from dataclasses import dataclass

from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.workloads.apps import make_apps, mean_share
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.diurnal_nodes import choose_shapes
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, make_node, numbered


@dataclass(frozen=True)
class Fill:
    """Fill, wipe, repeat, on mixed machines."""

    nodes: int = 8
    """Machines; few enough for an exact solution of the packing."""
    load: float = 0.5
    """Share of all CPU or memory, whichever is more, that is asked for when it is full."""
    cycles: int = 1
    """How often it is filled and wiped."""
    wait_seconds: float = 10.0
    """Seconds between pods, and for which everything then runs."""
    apps: int = 12
    """Applications, each of one size; the number of classes that a policy meets."""
    shapes: str = ""
    """Kinds of machines, separated by commas (`small,medium,large,old`); empty = all."""

    def __post_init__(self) -> None:
        for field in ("nodes", "cycles", "apps"):
            check_range(self, field, 1)
        check_range(self, "load", 0, 0.9, above=True)
        check_range(self, "wait_seconds", 0)
        choose_shapes(self.shapes)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws the machines and the pods."""
        draw = Draw("fill", seed)
        apps = make_apps(draw, self.apps)
        shapes = choose_shapes(self.shapes)
        drawn = [draw.weighted(shapes, [shape.weight for shape in shapes]) for _ in range(self.nodes)]
        nodes = tuple(
            make_node(
                name,
                cpu=shape.cpu,
                memory_mib=shape.memory_gib * GIB_IN_MIB,
                watts=shape.watts,
                cost_per_hour=shape.cost_per_hour,
            )
            for name, shape in zip(numbered("node", self.nodes), drawn, strict=True)
        )
        count = max(round(self.load / mean_share(apps, nodes)), 1)
        events: list[Event] = []
        time = 0.0
        for cycle in range(self.cycles):
            chosen = [draw.weighted(apps, [app.weight for app in apps]) for _ in range(count)]
            pods = [app.pod(cycle * count + number) for number, app in enumerate(chosen)]
            for pod in pods:
                events.append(Create(seconds(time), pod))
                time += self.wait_seconds
            time += self.wait_seconds
            events += [Delete(seconds(time), pod.key) for pod in pods]
        return Trace(nodes, in_order(events), controllers=tuple(app.controller for app in apps), end=seconds(time))
