"""Pods over time: what happens to a cluster, whoever schedules. Workloads make traces, the simulator plays them."""

from dataclasses import dataclass
from typing import NamedTuple

from longshore.core.words.node import Node
from longshore.core.words.pod import Pod
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
)


class Create(NamedTuple):
    """A pod appears and wants a node."""

    time: float
    pod: Pod
    """Not bound; its key is unique in the trace."""
    lifetime: float | None = None
    """Seconds that it runs once it is placed; None = until a `Delete`."""


class Delete(NamedTuple):
    """A pod is taken away, running or waiting; one that has ended by itself is passed over."""

    time: float
    pod: str
    """`namespace/name`."""


class NodeFail(NamedTuple):
    """A node is gone at once; its pods start again as new ones, at the end of the queue."""

    time: float
    node: str


class NodeDrain(NamedTuple):
    """A node takes no more pods and loses those that it has; they wait for another node."""

    time: float
    node: str


class NodeJoin(NamedTuple):
    """A node of the trace that is absent, failed or drained takes pods (again), empty."""

    time: float
    node: str


class LatencyChange(NamedTuple):
    """The latency between nodes and their users changes."""

    time: float
    latency_ms: tuple[tuple[str, float], ...]
    """(node, milliseconds) for the nodes that change."""


Event = Create | Delete | NodeFail | NodeDrain | NodeJoin | LatencyChange


@dataclass(frozen=True, slots=True)
class Trace:
    """A cluster and what happens to it, in order of time; events of one moment happen in the order given."""

    nodes: tuple[Node, ...]
    """Every node that is ever there."""
    events: tuple[Event, ...]
    absent: frozenset[str] = frozenset()
    """Nodes that are not there at the start."""
    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    controllers: tuple[Controller, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    end: float | None = None
    """When the trace ends; None = with its last event and the last pod that leaves by itself."""

    def snapshot(self) -> Snapshot:
        """Return the cluster with all nodes and every pod of the trace waiting: what is compiled to arrays."""
        pods = tuple(event.pod for event in self.events if isinstance(event, Create))
        return Snapshot(
            nodes=self.nodes,
            pods=pods,
            namespaces=self.namespaces,
            services=self.services,
            controllers=self.controllers,
            volumes=self.volumes,
            claims=self.claims,
        )
