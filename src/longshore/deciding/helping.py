"""Which change of a cluster can help a pod that a filter has rejected: upstream's event registrations.

Conservative: a change that might help wakes the pod; upstream's queueing hints also look at the objects. Every filter
says itself what helps. A pod that was rejected under a name that no filter has is helped by everything.
"""

from typing import Final

from longshore import filters
from longshore.core.words.errors import UnknownNameError
from longshore.core.words.happening import Happening
from longshore.core.words.node import Node, NodeReadings

_H = Happening
UNSUPPORTED: Final = "unsupported"
"""Stands for a field that no filter reads: an update of the pod itself, or of the claims that it names."""


def could_help(happening: Happening, rejector: str) -> bool:
    """Say whether a change could make a filter accept a node that it rejected."""
    if rejector == UNSUPPORTED:
        return bool(happening & _H.STORAGE)
    try:  # without a filter's name: upstream's framework itself narrowed the nodes
        unit = filters.load((rejector or "PreFilter",))[0][1]
    except UnknownNameError:
        return bool(happening)
    return bool(happening & unit.helped_by) or _H.NODE_ADDED in happening


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
    if (before.gpu_count, before.gpu_model) != (after.gpu_count, after.gpu_model):
        found |= _H.NODE_DEVICES
    return found | latency_happening(before.readings, after.readings)


def latency_happening(before: NodeReadings, after: NodeReadings) -> Happening:
    """Say what other readings of a node mean for the pods that wait."""
    old, new = before.latency_ms, after.latency_ms
    is_worse_or_same = old == new or (old is not None and new is not None and new > old)
    return _H.NOTHING if is_worse_or_same else _H.NODE_LATENCY
