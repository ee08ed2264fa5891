"""Which change of a cluster can help a pod that a filter has rejected: upstream's event registrations, as one table.

Conservative: a change that might help wakes the pod; upstream's queueing hints also look at the objects. A filter that
the table does not name (another package's) is helped by everything.
"""

from enum import Flag, auto
from typing import Final

from longshore.core.words.node import Node


class Happening(Flag):
    """What has changed in the cluster; several at once are or-ed together."""

    NOTHING = 0
    NODE_ADDED = auto()
    NODE_DELETED = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()
    """Taints, or cordoned or not."""
    NODE_OTHER = auto()
    """Annotations and readings: GPU devices, latency."""
    POD_ADDED = auto()
    """A pod was bound, by whomever."""
    POD_LABELS = auto()
    """A bound pod's spec as others see it, or it has begun to terminate."""
    POD_SHRANK = auto()
    """A bound pod asks for something else than before."""
    POD_DELETED = auto()
    """A bound pod is gone or has ended, or the room kept for a nominated pod is free."""
    CONTEXT = auto()
    """Namespaces, services, controllers."""
    STORAGE = auto()
    """Claims and volumes."""


_H = Happening
NOTHING_KNOWN: Final = "unknown"
"""Stands for a rejection that no filter answers for; everything could help."""
UNSUPPORTED: Final = "unsupported"
"""Stands for a field that no filter reads: an update of the pod itself, or of the claims that it names."""

_FREED = _H.POD_DELETED | _H.POD_SHRANK
_HELPED_BY = {
    "NodeUnschedulable": _H.NODE_ADDED | _H.NODE_TAINTS,
    "NodeName": _H.NODE_ADDED,
    "TaintToleration": _H.NODE_ADDED | _H.NODE_TAINTS,
    "NodeAffinity": _H.NODE_ADDED | _H.NODE_LABELS,
    # Affinity to `metadata.name`: the rejection of the framework itself has no plugin's name.
    "": _H.NODE_ADDED | _H.NODE_LABELS,
    "NodePorts": _H.NODE_ADDED | _H.POD_DELETED,
    "NodeResourcesFit": _H.NODE_ADDED | _H.NODE_ALLOCATABLE | _FREED,
    "VolumeBinding": _H.NODE_ADDED | _H.NODE_LABELS | _H.STORAGE,
    "VolumeZone": _H.NODE_ADDED | _H.NODE_LABELS | _H.STORAGE,
    "PodTopologySpread": _H.NODE_ADDED
    | _H.NODE_DELETED
    | _H.NODE_LABELS
    | _H.NODE_TAINTS
    | _H.POD_ADDED
    | _H.POD_LABELS
    | _H.POD_DELETED,
    "InterPodAffinity": _H.NODE_ADDED | _H.NODE_LABELS | _H.POD_ADDED | _H.POD_LABELS | _H.POD_DELETED | _H.CONTEXT,
    "GpuDevices": _H.NODE_ADDED | _H.NODE_LABELS | _H.NODE_OTHER | _H.POD_DELETED,
    "LatencyLimit": _H.NODE_ADDED | _H.NODE_OTHER,
    UNSUPPORTED: _H.STORAGE,
}


def could_help(happening: Happening, rejector: str) -> bool:
    """Say whether a change could make a filter accept a node that it rejected."""
    return bool(happening & _HELPED_BY.get(rejector, ~_H.NOTHING))


def node_happening(before: Node | None, after: Node | None) -> Happening:
    """Say what a node's change means for the pods that wait."""
    if before is None or after is None:
        return _H.NODE_ADDED if after is not None else _H.NODE_DELETED if before is not None else _H.NOTHING
    if before == after:
        return _H.NOTHING
    found = _H.NOTHING
    if before.allocatable != after.allocatable:
        found |= _H.NODE_ALLOCATABLE
    if before.labels != after.labels:
        found |= _H.NODE_LABELS
    if before.taints != after.taints or before.is_unschedulable != after.is_unschedulable:
        found |= _H.NODE_TAINTS
    if (before.gpu_count, before.gpu_model, before.readings) != (after.gpu_count, after.gpu_model, after.readings):
        found |= _H.NODE_OTHER
    return found
