"""The cluster as decisions see it: what the watch says, and the pods that were placed a moment ago ("assumed"). Pure.

A pod counts as used room from the decision on. It is confirmed when the watch shows it bound, and forgotten when its
binding fails or it is deleted. Every change says what it could mean for pods that wait (`Happening`).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.happening import Happening
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.objects import Word
from longshore.core.words.pod import Pod
from longshore.deciding.helping import latency_happening, node_happening


class ClusterView:
    """Nodes, and the pods that hold room on them."""

    def __init__(self, live: LiveCluster) -> None:
        self.live = live
        """All nodes, and the pods that hold room; who waits is in the queue."""
        self.version = 0
        """Goes up with every change that a decision could see."""
        self._assumed: dict[str, str] = {}
        self._priorities: Counter[int] = Counter()

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return self.live.nodes

    @property
    def num_running(self) -> int:
        """Pods that hold room, the assumed ones too."""
        return len(self.live.pods)

    @property
    def num_assumed(self) -> int:
        """Pods that were placed and that the watch has not shown bound yet."""
        return len(self._assumed)

    def put_node(self, node: Node) -> Happening:
        """Take a new node, or a new version of one."""
        before = self.nodes.get(node.name)
        if before != node:
            self.live.put_node(node)
            self.version += 1
        return node_happening(before, node)

    def drop_node(self, name: str) -> Happening:
        """Forget a node; its pods are still known, and count again if it comes back."""
        if name not in self.nodes:
            return Happening.NOTHING
        self.live.drop_node(name)
        self.version += 1
        return Happening.NODE_DELETED

    def put_readings(self, readings: Mapping[str, NodeReadings]) -> Happening:
        """Take what was measured on nodes."""
        happening = Happening.NOTHING
        for name, measured in readings.items():
            if name in self.nodes:
                happening |= latency_happening(self.live.readings_of(name), measured)
        self.live.put_readings(readings)
        self.version += 1
        return happening

    def put_context(self, **context: Any) -> None:
        """Take the objects that constraints refer to, as `LiveCluster.put_context` does."""
        self.live.put_context(**context)
        self.version += 1

    def put_object(self, before: Word | None, after: Word | None) -> None:
        """Take another object in the place of one, as `LiveCluster.put_object` does."""
        self.live.put_object(before, after)
        self.version += 1

    def touch(self) -> None:
        """Take note that something changed which is not kept here but counts in a decision."""
        self.version += 1

    def put_running(self, pod: Pod) -> Happening:
        """Take a pod that the watch shows bound, by whomever; an assumed one is confirmed by it."""
        before = self.running(pod.key)
        was_assumed = self._assumed.pop(pod.key, None) is not None
        if before is not None and _is_same(before, pod):
            return Happening.NOTHING
        if before is not None and was_assumed and before.bound_to == pod.bound_to and pod.gpu_devices is None:
            # The devices are known here alone until the annotation is seen.
            pod = replace(pod, gpu_devices=before.gpu_devices)
        self._store(pod)
        if before is None or was_assumed:
            return Happening.POD_ADDED
        return _pod_happening(before, pod)

    def drop_running(self, key: str) -> Happening:
        """Forget a pod that is gone or has ended."""
        before = self.running(key)
        if before is None:
            return Happening.NOTHING
        self._assumed.pop(key, None)
        self._count(before, -1)
        self.live.drop_pod(key)
        self.version += 1
        return Happening.POD_DELETED

    def assume(self, pod: Pod, node: str, devices: tuple[int, ...] | None, started: float) -> Pod:
        """Count a pod as placed; return it as it is then."""
        placed = replace(pod, bound_to=node, gpu_devices=devices, started=started)
        self._assumed[pod.key] = pod.uid
        self._store(placed)
        return placed

    def is_assumed(self, key: str, uid: str) -> bool:
        """Say whether a pod was placed and is not yet seen bound."""
        return self._assumed.get(key) == uid

    def forget(self, key: str, uid: str) -> Happening:
        """Take back that a pod was placed; nothing if it was seen bound meanwhile, or is another pod by now."""
        return self.drop_running(key) if self.is_assumed(key, uid) else Happening.NOTHING

    def running(self, key: str) -> Pod | None:
        """Return a pod that holds room."""
        return self.live.pods.get(key)

    def running_on(self, node: str) -> Collection[Pod]:
        """Return the pods that hold room on a node."""
        return self.live.pods_on(node)

    def has_lower_priority(self, priority: int) -> bool:
        """Say whether any pod could be evicted for one of that priority."""
        return any(each < priority for each in self._priorities)  # a cluster has a handful of priorities

    def _store(self, pod: Pod) -> None:
        before = self.running(pod.key)
        if before is not None:
            self._count(before, -1)
        self._count(pod, 1)
        self.live.put_pod(pod)
        if before != pod:  # most updates are about its status alone
            self.version += 1

    def _count(self, pod: Pod, sign: int) -> None:
        self._priorities[pod.priority] += sign
        if not self._priorities[pod.priority]:
            del self._priorities[pod.priority]


def _is_same(before: Pod, after: Pod) -> bool:
    """Say whether nothing changed, what only preemption reads included."""
    return (before, before.started, before.is_being_preempted) == (after, after.started, after.is_being_preempted)


def _pod_happening(before: Pod, after: Pod) -> Happening:
    if before.bound_to != after.bound_to:
        return Happening.POD_ADDED | Happening.POD_DELETED
    found = Happening.NOTHING
    one, other = before.spec, after.spec
    if one.labels != other.labels or one.is_terminating != other.is_terminating:
        found |= Happening.POD_LABELS
    if (one.containers, one.init_containers, one.pod_requests) != (
        other.containers,
        other.init_containers,
        other.pod_requests,
    ):
        found |= Happening.POD_SHRANK
    return found
