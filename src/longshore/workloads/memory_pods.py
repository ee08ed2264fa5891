"""Pods that differ in memory alone, on three unit nodes (after a scheduler with a Q-table).

A node's memory is 1.0, a pod's max(N(0.2, 0.1), 0.05) rounded to two decimals; here 0.01 is 1 MiB. Lifetimes are
uniform, 1 : 10, as in the seed system, which counts them in milliseconds of real time; here they are 10 to 100 s.
It starts a pod every 0.1 ms, which offers four times what the nodes hold; here the offered load is a parameter.
"""

from dataclasses import dataclass

from longshore.core.words.pod import Container, Pod, PodSpec
from longshore.core.words.resources import MEMORY
from longshore.core.words.trace import Create, Event, Trace
from longshore.workloads.apps import generated
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.draw import Draw
from longshore.workloads.machines import make_node, memory_nanos, numbered

UNIT_MIB = 100
MEAN_MEMORY, MEMORY_DEVIATION, LEAST_MEMORY = 0.2, 0.1, 0.05


@dataclass(frozen=True)
class MemoryPods:
    """A steady stream of pods of random memory."""

    nodes: int = 3
    """Nodes of 1.0 memory (100 MiB); the seed system has three."""
    pods: int = 300
    """Pods in all; about 25 generations at the default load."""
    load: float = 0.75
    """Offered load: the share of all memory that the pods would fill if none had to wait; much, and not hopeless."""
    shortest_seconds: float = 10.0
    """The shortest lifetime, seconds (the seed system's 1 ms, slowed down)."""
    longest_seconds: float = 100.0
    """The longest lifetime, seconds (the seed system's 10 ms, slowed down)."""

    def __post_init__(self) -> None:
        for field in ("nodes", "pods"):
            check_range(self, field, 1)
        check_range(self, "load", 0, above=True)
        check_range(self, "shortest_seconds", 0.001)
        check_range(self, "longest_seconds", self.shortest_seconds)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws memory and lifetimes, arrivals are evenly spaced as in the seed system."""
        draw = Draw("memory-pods", seed)
        mean_lifetime_seconds = (self.shortest_seconds + self.longest_seconds) / 2.0
        interval = mean_lifetime_seconds * MEAN_MEMORY / (self.load * self.nodes)
        events: list[Event] = []
        for number in range(self.pods):
            wanted = max(draw.normal(MEAN_MEMORY, MEMORY_DEVIATION), LEAST_MEMORY)
            memory_mib = min(round(wanted * UNIT_MIB), UNIT_MIB)
            lifetime = seconds(draw.uniform(self.shortest_seconds, self.longest_seconds))
            events.append(Create(seconds(number * interval), _pod(number, memory_mib), lifetime))
        # A real node always has CPU; no pod here asks for any.
        nodes = tuple(make_node(name, cpu=4, memory_mib=UNIT_MIB) for name in numbered("node", self.nodes))
        return Trace(nodes, in_order(events), end=seconds(self.pods * interval))


def _pod(number: int, memory_mib: int) -> Pod:
    container = Container(image="memory:1", requests=((MEMORY, memory_nanos(memory_mib)),))
    return Pod(f"memory-{generated(number)}", PodSpec(labels=(("app", "memory"),), containers=(container,)))
