"""What a value depends on that is computed for a pod on a node; whoever keeps values reads here when they are stale."""

from enum import Enum


class Scope(Enum):
    """What can change a value, beside another pod or other nodes: its name in pages and in Go, and what it means."""

    POD = "pod", "nothing more; one value for all nodes"
    NODE = "node", "nothing more; each node has its own value"
    READINGS = "readings", "what is measured on the node"
    PODS = "pods on the node", "the pods that run on the node"
    CLUSTER = "cluster", "the pods that run or wait anywhere; one value for all nodes"
    OTHERS = "other nodes", "the pods that run anywhere, and where the pod may go; each node has its own value"

    def __init__(self, label: str, meaning: str) -> None:
        self.label, self.meaning = label, meaning

    @property
    def is_one_value(self) -> bool:
        """Whether all nodes have the same value."""
        return self in (Scope.POD, Scope.CLUSTER)

    @property
    def is_of_one_node(self) -> bool:
        """Whether no other node's pods and readings can change it."""
        return self not in (Scope.CLUSTER, Scope.OTHERS)

    @property
    def changes_with_pods(self) -> bool:
        """Whether a placement can change it."""
        return self is Scope.PODS or not self.is_of_one_node
