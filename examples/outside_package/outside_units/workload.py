"""Pods of one size that come at even steps and stay for a while."""

from dataclasses import dataclass

from longshore.core.words.pod import Container, Pod, PodSpec
from longshore.core.words.resources import CPU, MEMORY
from longshore.core.words.trace import Create, Trace
from longshore.workloads.base import check_range, seconds
from longshore.workloads.draw import Draw
from longshore.workloads.machines import cpu_nanos, make_node, memory_nanos, numbered


@dataclass(frozen=True)
class Steady:
    """A steady stream."""

    nodes: int = 3
    """Machines, all alike."""
    pods: int = 12
    """Pods in all."""

    def __post_init__(self):
        for field in ("nodes", "pods"):
            check_range(self, field, 1)

    def trace(self, seed):
        """Make the trace; the seed draws how long each pod stays."""
        draw = Draw("steady", seed)
        wanted = ((CPU, cpu_nanos(500)), (MEMORY, memory_nanos(memory_mib=512)))
        spec = PodSpec(containers=(Container(requests=wanted),))
        nodes = tuple(make_node(name, cpu=4, memory_mib=4096) for name in numbered("node", self.nodes))
        pods = [Pod(f"steady-{number}", spec) for number in range(self.pods)]
        events = [
            Create(seconds(10.0 * number), pod, seconds(draw.uniform(20.0, 60.0))) for number, pod in enumerate(pods)
        ]
        return Trace(nodes, tuple(events), end=seconds(10.0 * self.pods))
