"""Deployments of equal pods until a target load, then all deleted, and again (after a scheduler trained on KWOK).

Each Deployment has 5 to 15 replicas of 1 CPU / 2 GiB; the last one is cut so that the load is met to the pod. 10 nodes
of 64 CPU / 256 GiB / 110 pods. The seed system waits until nothing is Pending before it goes on; a trace must not
depend on who schedules, so here the same time always passes.
"""

import math
from dataclasses import dataclass

from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.workloads.apps import App, make_app
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, make_node, numbered

NODE_CPU, NODE_MEMORY_MIB = 64, 256 * GIB_IN_MIB
POD_CPU_MILLIS, POD_MEMORY_MIB = 1000, 2 * GIB_IN_MIB
HIGHEST_LOAD = 0.88
"""The highest load of the seed system's recordings of the default scheduler."""


@dataclass(frozen=True)
class Deployments:
    """Fill to a load, wipe, repeat."""

    nodes: int = 10
    """Nodes; the seed system has ten."""
    load: float = 0.20
    """Share of all CPU that is requested when it is full, at most 0.88; 0.20 is the seed system's default."""
    resets: int = 2
    """How often the cluster is filled and wiped; the seed system's recordings have two."""
    fewest_replicas: int = 5
    """Replicas of the smallest Deployment (the seed system's range)."""
    most_replicas: int = 15
    """Replicas of the largest Deployment (the seed system's range)."""
    wait_seconds: float = 40.0
    """Seconds between Deployments, before the wipe and after it (the seed system's pace)."""

    def __post_init__(self) -> None:
        for field in ("nodes", "resets", "fewest_replicas"):
            check_range(self, field, 1)
        check_range(self, "most_replicas", self.fewest_replicas)
        check_range(self, "load", 0, HIGHEST_LOAD, above=True)
        check_range(self, "wait_seconds", 0)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed says how many replicas each Deployment has."""
        draw = Draw("deployments", seed)
        events: list[Event] = []
        apps: list[App] = []
        time = 0.0
        for reset in range(self.resets):
            keys = []
            for number, replicas in enumerate(self._replicas(draw)):
                app = make_app(f"deployment-{reset}-{number:03d}", cpu_millis=POD_CPU_MILLIS, memory_mib=POD_MEMORY_MIB)
                apps.append(app)
                pods = [app.pod(replica) for replica in range(replicas)]
                events += [Create(seconds(time), pod) for pod in pods]
                keys += [pod.key for pod in pods]
                time += self.wait_seconds
            events += [Delete(seconds(time), key) for key in keys]
            time += self.wait_seconds
        return Trace(
            nodes=tuple(
                make_node(name, cpu=NODE_CPU, memory_mib=NODE_MEMORY_MIB, labels={"kubernetes.io/role": "agent"})
                for name in numbered("node", self.nodes)
            ),
            events=in_order(events),
            controllers=tuple(app.controller for app in apps),
            end=seconds(time),
        )

    def _replicas(self, draw: Draw) -> list[int]:
        """Draw Deployments until the load is met."""
        # The small subtraction undoes what floating point adds: 0.2 · 640 must be 128 pods and not 129.
        left = math.ceil(self.load * self.nodes * NODE_CPU * 1000 / POD_CPU_MILLIS - 1e-9)
        found = []
        while left > 0:
            found.append(min(draw.integer(self.fewest_replicas, self.most_replicas), left))
            left -= found[-1]
        return found
