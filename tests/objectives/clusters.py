"""Small clusters for the tests of objectives: nodes and pods in a line each, and one placement as a transition."""

from dataclasses import replace

from longshore.core.words.node import Node
from longshore.core.words.pod import Container, Owner, Pod, PodSpec, ResourceNanos
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from longshore.core.words.snapshot import Snapshot, TypicalPod
from longshore.objectives.base import Transition
from longshore.objectives.samples import sample_transition
from support.compiling import encode

NEW_POD = "new"


def amounts(cpu_millis: int, memory: int, disk: int = 0) -> ResourceNanos:
    return (
        (CPU, cpu_millis * NANOS_PER_MILLI),
        (EPHEMERAL_STORAGE, disk * NANOS_PER_UNIT),
        (MEMORY, memory * NANOS_PER_UNIT),
    )


def node(name: str, cpu_millis: int = 1000, memory: int = 1000, disk: int = 1000, **fields: object) -> Node:
    return replace(Node(name, amounts(cpu_millis, memory, disk)), **fields)


def spec(cpu_millis: int = 100, memory: int = 100, disk: int = 100, **fields: object) -> PodSpec:
    return replace(PodSpec(containers=(Container(requests=amounts(cpu_millis, memory, disk)),)), **fields)


def daemon(cpu_millis: int = 100) -> PodSpec:
    """Return a DaemonSet's pod, which keeps no node on."""
    return spec(cpu_millis, owner=Owner("apps/v1", "DaemonSet", "agent"))


def transition(
    nodes: list[Node],
    on: dict[str, list[PodSpec]],
    to: str,
    pod: PodSpec | None = None,
    padded_nodes: int | None = None,
    typical: tuple[TypicalPod, ...] | None = None,
) -> Transition:
    """Place `pod` on the node `to` of a cluster where `on` says which pods are on which nodes."""
    bound = [Pod(f"{name}-{i}", one, bound_to=name) for name, specs in on.items() for i, one in enumerate(specs)]
    pods = (Pod(NEW_POD, pod or spec()), *bound)
    snapshot = Snapshot(nodes=tuple(nodes), pods=pods, typical_pods=typical)
    return sample_transition(encode(snapshot, padded_nodes=padded_nodes), NEW_POD, to)
