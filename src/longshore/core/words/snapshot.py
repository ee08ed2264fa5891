"""A cluster at one moment, by names: the host-side state type. `arrays.encode` turns it into arrays."""

from dataclasses import dataclass
from typing import NamedTuple

from longshore.core.words.labels import Labels, Selector
from longshore.core.words.node import Node
from longshore.core.words.pod import GpuRequest, NodeSelectorTerm, Pod


class Namespace(NamedTuple):
    """A namespace; its labels are what namespace selectors read."""

    name: str
    labels: Labels = ()


class Service(NamedTuple):
    """A service; pods behind one service are spread by default. No selector = selects nothing."""

    namespace: str
    name: str
    selector: Labels | None = None


class Controller(NamedTuple):
    """A ReplicaSet, ReplicationController or StatefulSet; its selector says which pods belong together."""

    api_version: str
    kind: str
    namespace: str
    name: str
    selector: Selector | None = None


class PersistentVolume(NamedTuple):
    """A volume; zone and region labels say where it can be used."""

    name: str
    labels: Labels = ()
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    """Terms of which a node must match one to use it; None = any node."""
    is_csi: bool = False
    """A driver attaches it, and may limit how many it attaches to a node."""
    csi_driver: str = ""
    """Its name, where it is known."""


class PersistentVolumeClaim(NamedTuple):
    """A claim; `volume_name` is empty while it is not bound."""

    namespace: str
    name: str
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()
    is_half_bound: bool = False
    """It names a volume, and the volume controller has not confirmed that yet."""
    is_lost: bool = False
    """The volume that it was bound to is gone."""
    is_being_deleted: bool = False


class VolumeLimit(NamedTuple):
    """How many volumes of a driver a node takes."""

    node: str
    driver: str
    most: int


class TypicalPod(NamedTuple):
    """A kind of pod that is expected to arrive, and how often: what fragmentation is measured against."""

    cpu_millis: int
    gpu: GpuRequest | None
    share: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes, pods (bound and waiting) and the objects that their constraints refer to."""

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    controllers: tuple[Controller, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    volume_limits: tuple[VolumeLimit, ...] = ()
    """As CSINodes tell them; no filter reads them."""
    typical_pods: tuple[TypicalPod, ...] | None = None
    """None = the pods of the snapshot themselves are typical."""

    @property
    def pending(self) -> tuple[Pod, ...]:
        """Pods that wait for a node."""
        return tuple(pod for pod in self.pods if not pod.bound_to)
