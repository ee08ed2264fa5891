"""Room that is kept for pods which have preempted others: who is nominated to run where, until they are bound. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from longshore.core.words.pod import Pod


class Nomination(NamedTuple):
    """A waiting pod and the node on which room is being made for it."""

    pod: Pod
    node: str


class Nominations:
    """The nominated pods by their keys; a handful at any time, usually none."""

    def __init__(self) -> None:
        self._by_key: dict[str, Nomination] = {}
        self.version = 0
        """Goes up with every change, so that what was computed from the nominations can be kept."""

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def put(self, pod: Pod, node: str) -> str:
        """Nominate a pod to a node, or with an empty name to none; return the node it was nominated to before."""
        before = self._by_key.get(pod.key)
        if not node:
            self.drop(pod.key)
        elif before != Nomination(pod, node):
            self._by_key[pod.key] = Nomination(pod, node)
            self.version += 1
        return before.node if before is not None else ""

    def drop(self, key: str) -> str:
        """Forget a pod that is bound or gone; return the node it was nominated to."""
        before = self._by_key.pop(key, None)
        if before is None:
            return ""
        self.version += 1
        return before.node

    def node_of(self, key: str) -> str:
        """Return where a pod is nominated to run; empty = nowhere."""
        found = self._by_key.get(key)
        return found.node if found is not None else ""

    def that_count(self, pod: Pod) -> Iterator[Nomination]:
        """Yield the nominations whose room a pod may not take: others of the same or a higher priority."""
        for nomination in self._by_key.values():
            if nomination.pod.priority >= pod.priority and nomination.pod.key != pod.key:
                yield nomination

    def of_lower_priority(self, node: str, priority: int) -> list[Pod]:
        """List the pods nominated to a node that a preemptor of that priority pushes aside."""
        return [each.pod for each in self._by_key.values() if each.node == node and each.pod.priority < priority]
