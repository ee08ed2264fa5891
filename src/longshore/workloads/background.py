"""Nodes with random background load, then replicas of one small application (after an energy scheduler).

Each cycle gives every node a blocker pod that it cannot leave: CPU U(0, 0.5) of the node, memory U(0, 12288) MiB. Then
the replicas come one by one. Nodes are of 6 CPU / 16 GiB, as the seed system's one machine that stands for three.
"""

from dataclasses import dataclass

from longshore.core.words.node import Node
from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.workloads.apps import App, make_app
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, make_node, numbered

NODE_CPU, NODE_MEMORY_MIB = 6, 16 * GIB_IN_MIB
MOST_BACKGROUND_CPU = 0.5
MOST_BACKGROUND_MEMORY_MIB = 12288


@dataclass(frozen=True)
class Background:
    """Random blockers first, then replicas."""

    nodes: int = 3
    """Nodes; the seed system has three, one after another on one machine."""
    pods: int = 80
    """Replicas in each cycle; 80 of 100m / 128Mi fit beside the heaviest background on three nodes."""
    cycles: int = 2
    """How often it starts again with another background; two show that the first answer may not be kept."""
    wait_seconds: float = 10.0
    """Seconds between replicas; the seed system needs tens of seconds for each decision."""
    idle_watts: float = 37.0
    """Watts of an idle node: 40 % of the full ones, which is an assumption."""
    full_watts: float = 93.0
    """Watts of a fully loaded node: what the seed system's own recordings show for the host."""

    def __post_init__(self) -> None:
        for field in ("nodes", "pods", "cycles"):
            check_range(self, field, 1)
        check_range(self, "wait_seconds", 0)
        check_range(self, "idle_watts", 0)
        check_range(self, "full_watts", self.idle_watts)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws the background."""
        draw = Draw("background", seed)
        watts = (self.idle_watts, self.full_watts)
        nodes = tuple(
            make_node(name, cpu=NODE_CPU, memory_mib=NODE_MEMORY_MIB, watts=watts)
            for name in numbered("node", self.nodes)
        )
        app = make_app("app", cpu_millis=100, memory_mib=128)
        apps = [app]
        events: list[Event] = []
        time = 0.0
        for cycle in range(self.cycles):
            blockers = [_blocker(draw, node, cycle) for node in nodes]
            apps += blockers
            pods = [blocker.pod(0) for blocker in blockers]
            events += [Create(seconds(time), pod) for pod in pods]
            for number in range(self.pods):
                time += self.wait_seconds
                pods.append(app.pod(cycle * self.pods + number))
                events.append(Create(seconds(time), pods[-1]))
            time += self.wait_seconds
            events += [Delete(seconds(time), pod.key) for pod in pods]
        return Trace(nodes, in_order(events), controllers=tuple(app.controller for app in apps), end=seconds(time))


def _blocker(draw: Draw, node: Node, cycle: int) -> App:
    # A node takes whole milli-cores and MiB; at least one, so that the blocker always is a load.
    cpu_millis = max(int(draw.uniform(0.0, MOST_BACKGROUND_CPU) * NODE_CPU * 1000), 1)
    memory_mib = max(int(draw.uniform(0.0, MOST_BACKGROUND_MEMORY_MIB)), 1)
    name = f"blocker-{cycle}-{node.name}"
    return make_app(name, cpu_millis=cpu_millis, memory_mib=memory_mib, app_label="blocker", node_name=node.name)
