"""What can happen in a cluster that pods wait for: filters say which of it can help a pod that they refused."""

from enum import Flag, auto


class Happening(Flag):
    """What has changed in the cluster; several at once are or-ed together."""

    NOTHING = 0
    NODE_ADDED = auto()
    NODE_DELETED = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()
    """Taints, or cordoned or not."""
    NODE_DEVICES = auto()
    """Its GPUs."""
    NODE_LATENCY = auto()
    """Its latency is lower than before, or has come to be known, or is not known any more."""
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


ANYTHING = ~Happening.NOTHING
