"""The objects around pods and nodes that scheduling reads, to our words: namespaces, services, controllers, …"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from longshore.core.words.errors import ObjectError
from longshore.core.words.labels import Selector, find_unparsable, freeze
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    VolumeLimit,
)
from longshore.kube import selectors, wire

Value = TypeVar("Value")


class DisruptionBudget(NamedTuple):
    """How many of the pods that it selects may be taken away; no selector = it protects none."""

    namespace: str
    name: str
    selector: Selector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()
    """Names of pods that are being evicted and already counted."""


class ObjectIdentity(NamedTuple):
    """What an object is and how it is called, with the defaults filled in."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        """`namespace/name`, or the name of what has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def workload(source: wire.Workload, identity: ObjectIdentity) -> Controller:
    """Convert a ReplicaSet or StatefulSet.

    Raises:
        ObjectError: its selector cannot be read.
    """
    chosen = _selected(identity, "spec.selector", lambda: selectors.selector(source.spec.selector))
    # Upstream passes over a controller's selector that it cannot read, and spreads by the services alone.
    return Controller(*identity, None if find_unparsable((chosen,)) else chosen)


def replication_controller(source: wire.ReplicationController, identity: ObjectIdentity) -> Controller:
    """Convert a ReplicationController."""
    return Controller(*identity, selectors.set_selector(source.spec.selector))


def _selected(identity: ObjectIdentity, field: str, convert_selector: Callable[[], Value]) -> Value:
    try:
        return convert_selector()
    except selectors.SelectorError as error:
        raise ObjectError(identity.kind, identity.full_name, field, str(error)) from error


def service(source: wire.Service, identity: ObjectIdentity) -> Service:
    """Convert a service."""
    chosen = source.spec.selector
    return Service(identity.namespace, identity.name, None if chosen is None else freeze(chosen))


def claim(source: wire.PersistentVolumeClaim, identity: ObjectIdentity) -> PersistentVolumeClaim:
    """Convert a claim."""
    volume_name, meta = source.spec.volume_name, source.metadata
    return PersistentVolumeClaim(
        namespace=identity.namespace,
        name=identity.name,
        volume_name=volume_name,
        access_modes=tuple(source.spec.access_modes or ()),
        is_half_bound=bool(volume_name) and wire.BIND_COMPLETED not in (meta.annotations or {}),
        is_lost=source.status.phase == "Lost",
        is_being_deleted=meta.deletion_timestamp is not None,
    )


def volume(source: wire.PersistentVolume, identity: ObjectIdentity) -> PersistentVolume:
    """Convert a persistent volume.

    Raises:
        ObjectError: its selector cannot be read.
    """
    affinity = source.spec.node_affinity
    required = affinity.required if affinity else None
    terms = _selected(identity, "spec.nodeAffinity", lambda: selectors.node_terms(required))
    driver = source.spec.csi_driver
    return PersistentVolume(identity.name, freeze(source.metadata.labels), terms, driver is not None, driver or "")


def volume_limits(source: wire.CSINode, identity: ObjectIdentity) -> tuple[VolumeLimit, ...]:
    """Convert what a node's drivers say; a driver without a number has no limit."""
    return tuple(
        VolumeLimit(identity.name, driver.name, driver.allocatable.count)
        for driver in source.spec.drivers or ()
        if driver.allocatable is not None and driver.allocatable.count is not None
    )


def namespace(source: wire.Namespace, identity: ObjectIdentity) -> Namespace:
    """Convert a namespace."""
    return Namespace(identity.name, freeze(source.metadata.labels))


def disruption_budget(source: wire.PodDisruptionBudget, identity: ObjectIdentity) -> DisruptionBudget:
    """Convert a PodDisruptionBudget.

    Raises:
        ObjectError: its selector cannot be read.
    """
    return DisruptionBudget(
        namespace=identity.namespace,
        name=identity.name,
        selector=_selected(identity, "spec.selector", lambda: selectors.selector(source.spec.selector)),
        disruptions_allowed=source.status.disruptions_allowed,
        disrupted_pods=frozenset(source.status.disrupted_pods or ()),
    )
