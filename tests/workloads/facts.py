"""What the workloads' own tests ask of a trace."""

from longshore.core.words.node import Node
from longshore.core.words.pod import Pod
from longshore.core.words.resources import CPU, MEMORY
from longshore.core.words.trace import Create, Delete, LatencyChange, Trace

MILLI, MIB = 10**6, 2**20 * 10**9


def creates(trace: Trace) -> list[Create]:
    """The arrivals, in order."""
    return [event for event in trace.events if isinstance(event, Create)]


def deletes(trace: Trace) -> list[Delete]:
    """The deletions, in order."""
    return [event for event in trace.events if isinstance(event, Delete)]


def latency_changes(trace: Trace) -> list[LatencyChange]:
    """The changes of latency, in order."""
    return [event for event in trace.events if isinstance(event, LatencyChange)]


def request(pod: Pod) -> tuple[int, int]:
    """What a pod of one container asks for: milli-CPU, MiB."""
    amounts = dict(pod.spec.containers[0].requests)
    return amounts.get(CPU, 0) // MILLI, amounts.get(MEMORY, 0) // MIB


def shape(node: Node) -> tuple[int, int, int]:
    """What a node has: CPUs, MiB, pods."""
    amounts = dict(node.allocatable)
    return amounts[CPU] // 10**9, amounts[MEMORY] // MIB, amounts["pods"] // 10**9


def offered_load(trace: Trace) -> float:
    """The share of all CPU that pods with lifetimes ask for, on average over the trace, if none waits."""
    assert trace.end is not None
    have = sum(shape(node)[0] for node in trace.nodes) * 1000
    asked = sum(request(event.pod)[0] * (event.lifetime or 0.0) for event in creates(trace))
    return asked / have / trace.end
