"""The pod: what it asks for, where it may go, what others may think of it.

Every type is hashable. Two pods with equal `PodSpec`s are of one class and are compiled once (`arrays.encode`).
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import NamedTuple

from longshore.core.words.labels import Labels, Requirement, Selector

LATENCY_SOFT_ANNOTATIONS = ("longshore.dev/latency-soft-limit-ms", "latencySoftConstraint")
LATENCY_HARD_ANNOTATIONS = ("longshore.dev/latency-hard-limit-ms", "latencyHardConstraint")
"""Limits of a pod in milliseconds. The first that can be read counts; the second is the thesis' name for it."""

ANY_IP = "0.0.0.0"
"""All of a node's addresses."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
MIRROR_OWNER = ("v1", "Node")
"""What tells the mirror of a static pod: the kubelet's annotation, and API version and kind of its owner."""

ResourceNanos = tuple[tuple[str, int], ...]
"""Sorted (resource name, nano-units) pairs."""


class HostPort(NamedTuple):
    """A port on the node itself."""

    port: int
    protocol: str = "TCP"
    ip: str = ANY_IP

    def conflicts(self, other: "HostPort") -> bool:
        """Say whether both ports cannot be open on one node."""
        same_ip = self.ip == other.ip or ANY_IP in (self.ip, other.ip)
        return same_ip and self.port == other.port and self.protocol == other.protocol


class Container(NamedTuple):
    """What scheduling reads of a container."""

    image: str = ""
    requests: ResourceNanos = ()
    limits: ResourceNanos = ()
    ports: tuple[HostPort, ...] = ()
    is_sidecar: bool = False
    """An init container that keeps running (restartPolicy: Always)."""


class Toleration(NamedTuple):
    """A taint that the pod puts up with; an empty key or effect stands for all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class NodeSelectorTerm(NamedTuple):
    """Requirements on labels and on fields (`metadata.name`) that must all hold; a term with none matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class NodePreference(NamedTuple):
    """A weighted wish about the node."""

    weight: int
    term: NodeSelectorTerm


class AffinityTerm(NamedTuple):
    """Be with, or away from, pods that match, within one value of the topology key."""

    topology_key: str
    selector: Selector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None


class WeightedAffinityTerm(NamedTuple):
    """A weighted wish about other pods."""

    weight: int
    term: AffinityTerm


class SpreadConstraint(NamedTuple):
    """Keep the counts of matching pods per topology value within `max_skew` of each other."""

    max_skew: int
    topology_key: str
    is_hard: bool
    selector: Selector | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class Owner(NamedTuple):
    """The controller that made the pod."""

    api_version: str
    kind: str
    name: str


class Volume(NamedTuple):
    """A volume by its source: `persistentVolumeClaim` with the claim's name, `image` with its reference, `emptyDir`
    with its medium, and so on."""

    source: str
    name: str = ""


@dataclass(frozen=True, slots=True, order=True)
class GpuRequest:
    """Devices wanted: `count` devices, `milli` of each (1000 = whole), of one of `models` (none = any)."""

    count: int
    milli: int
    models: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        """A pod that takes a part of one device."""
        return self.milli < 1000


@dataclass(frozen=True, slots=True)
class PodSpec:
    """All that decides where a pod may go and how it counts for others: the identity of a class."""

    namespace: str = "default"
    labels: Labels = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceNanos = ()
    pod_requests: ResourceNanos = ()
    """Pod-level requests (spec.resources); they replace the sum over containers, resource by resource."""
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    """The node that a waiting pod names itself. Empty for a bound pod: where it is, is state and not identity."""
    node_selector: Labels = ()
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    """Required terms, one of which must match; None = no requirement, () = nothing matches."""
    node_preferences: tuple[NodePreference, ...] | None = None
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedAffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    owner: Owner | None = None
    volumes: tuple[Volume, ...] = ()
    gpu: GpuRequest | None = None
    latency_soft_ms: float | None = None
    latency_hard_ms: float | None = None
    is_terminating: bool = False
    """Spreading does not count pods that are being deleted."""
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Hash all fields, once: specs are looked up far more often than they are made."""
        if not self._hash:
            object.__setattr__(self, "_hash", hash(_fields(self)) or 1)
        return self._hash

    def __reduce__(self) -> tuple[type["PodSpec"], tuple[object, ...]]:
        """Leave the hash behind: in another process it is another one."""
        return PodSpec, _fields(self)

    @property
    def keeps_node_on(self) -> bool:
        """Say whether a node that runs such a pod is on: the node could not be removed without moving the pod.

        A DaemonSet's pod and a static pod's mirror come and go with the node. Pods that have ended are in no snapshot.
        """
        owner = self.owner
        return owner is None or not (owner.kind == "DaemonSet" or (owner.api_version, owner.kind) == MIRROR_OWNER)

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Ports held for the pod's whole life: ordinary init containers hold none."""
        sidecars = tuple(container for container in self.init_containers if container.is_sidecar)
        return tuple(port for container in sidecars + self.containers for port in container.ports)


_fields = attrgetter(*(each.name for each in fields(PodSpec) if each.compare))


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod: its name, its class and its place."""

    name: str
    spec: PodSpec = field(default_factory=PodSpec)
    uid: str = ""
    bound_to: str = ""
    """The node it runs on; empty while it waits."""
    priority: int = 0
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[str, ...] = ()
    annotations: Labels = ()
    gpu_devices: tuple[int, ...] | None = None
    """Which of the node's devices it holds, where that is known."""
    unmodelled: tuple[str, ...] = ()
    """Fields in use that no filter reads (`filters.unsupported` says what follows from that)."""
    # What follows says nothing about where a pod may go: when it came, and what preemption reads of running pods.
    created: float = field(default=0.0, compare=False)
    """When it was made, in seconds since 1970; 0 = not known."""
    started: float = field(default=0.0, compare=False)
    """When it started, in seconds since 1970; the time of the decision for one that has not."""
    is_being_preempted: bool = field(default=False, compare=False)
    """It is terminating because a scheduler preempted it."""

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.spec.namespace

    @property
    def importance(self) -> tuple[int, float]:
        """Sorts the more important first: by priority, then who has run longer."""
        return -self.priority, self.started

    @property
    def key(self) -> str:
        """`namespace/name`, unique in a cluster."""
        return f"{self.spec.namespace}/{self.name}"
