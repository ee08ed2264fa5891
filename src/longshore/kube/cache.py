"""The cluster as it was last seen, in our words: a pure reducer over the batches of `kube.reflector`.

No input or output, no clock. Of equal words it keeps one, so that a large cluster of like pods stays small, and an
object whose word did not change (a node's heartbeat, a pod's status) makes no `Change`.

Versions of objects are numbers that only grow, comparable within a resource. So an event that is older than what is
held is passed over, and so is one about an object whose later deletion was seen. A list is the truth whatever was
held before.
"""

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from longshore.core.words.errors import LongshoreError, ObjectError
from longshore.core.words.node import Node
from longshore.core.words.pod import Pod
from longshore.core.words.snapshot import Snapshot
from longshore.kube import context as surroundings
from longshore.kube import convert, wire
from longshore.kube.context import DisruptionBudget
from longshore.kube.reflector import Event, Stage, Unreadable, WatchBatch
from longshore.kube.resources import RESOURCES, Resource

Value = TypeVar("Value", bound=Hashable)

BUDGET = "PodDisruptionBudget"
"""The one kind whose objects are about evictions and not about constraints."""
_FINISHED = ("Succeeded", "Failed")
_KEPT_CONDITIONS = ("PodScheduled", "DisruptionTarget")
_SWEEP_AT_LEAST = 1000
_SWEEP_GROWTH = 1.5
"""Of the values that were held at the last sweep. What is above goes on being held for nothing: specifications of
applications that are gone, of some kilobytes each."""


class PodCondition(NamedTuple):
    """A condition that scheduling reads or writes: `PodScheduled` while it is not true, `DisruptionTarget`."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodChange(msgspec.Struct, frozen=True, gc=False):
    """A pod as it is now. Equal pods make no change, so two that follow each other differ in something."""

    key: str
    """`namespace/name`."""
    namespace: str
    name: str
    uid: str
    pod: Pod | None = None
    """None: it is gone, or has ended, or (with an `error`) cannot be read."""
    error: str | None = None
    """What cannot be read: it names object, field and reason. A pod counts without annotations that cannot be read; of
    one that is bound and whose requests are the trouble nobody knows what it uses: it fills its node."""
    scheduler_name: str = ""
    bound_to: str = ""
    """Known also of a pod that cannot be read."""
    phase: str = ""
    is_terminating: bool = False
    nominated_node: str = ""
    preemption_policy: str = ""
    """`Never`, or anything else for upstream's default, `PreemptLowerPriority`."""
    created: float = 0.0
    """Seconds since the epoch."""
    started: float | None = None
    """Since when the node's kubelet knows it, in seconds since the epoch."""
    conditions: tuple[PodCondition, ...] = ()

    @property
    def is_gone(self) -> bool:
        """It takes no room and wants none any more."""
        return self.pod is None and self.error is None


class NodeChange(NamedTuple):
    """A node as it is now; None where it is gone, or with an `error` where it cannot be read.

    A node with an `error` is without those of longshore's annotations that cannot be read.
    """

    name: str
    node: Node | None
    error: str | None = None


class ContextChange(NamedTuple):
    """An object that constraints refer to has changed."""

    kind: str
    error: str | None = None
    before: Any = None
    """Its word until now; None = there was none, or it could not be read."""
    after: Any = None


Change = PodChange | NodeChange | ContextChange


class _Refused(NamedTuple):
    """The word of an object of the context that cannot be read."""

    error: str


class _Store:
    """The objects of one resource."""

    def __init__(self, resource: Resource, read: Callable[[Any, Any], Any]) -> None:
        self.resource = resource
        self.read = read
        self.words: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.deleted: dict[str, int] = {}
        """Versions of deletions since the last bookmark: what comes later and is older is a ghost."""
        self.complete_to = -1
        """All that happened up to this version has been seen."""
        self.unlisted: set[str] | None = None
        """While a list is under way: the keys that have not been in it so far."""
        self.is_synced = False


class Cache:
    """What is known of the cluster; `apply` takes a batch and says what changed by it."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}
        self._sweep_at = _SWEEP_AT_LEAST
        readers: dict[str, Callable[[Any, Any], Any]] = {
            "Node": self._read_node,
            "Pod": self._read_pod,
            "Namespace": surroundings.namespace,
            "Service": surroundings.service,
            "ReplicaSet": surroundings.workload,
            "StatefulSet": surroundings.workload,
            "ReplicationController": surroundings.replication_controller,
            "PersistentVolume": surroundings.volume,
            "PersistentVolumeClaim": surroundings.claim,
            "PodDisruptionBudget": surroundings.disruption_budget,
        }
        self._stores = {resource.kind: _Store(resource, readers[resource.kind]) for resource in RESOURCES}

    def apply(self, batch: WatchBatch) -> list[Change]:
        """Take a batch over; what does not matter to scheduling, or was known, changes nothing."""
        store = self._stores[batch.resource.kind]
        changes: list[Change] = []
        if batch.stage is Stage.LIST_BEGINS:
            store.unlisted = set(store.words)
        for event in batch.events:
            self._take(store, event, changes, is_listed=batch.stage is not Stage.WATCH)
        version = _number(batch.resource_version)
        if batch.stage is Stage.LIST_ENDS:
            for key in store.unlisted or ():
                self._drop(store, key, changes)
            store.unlisted = None
            store.deleted.clear()
            store.complete_to = -1 if version is None else version
            store.is_synced = True
        elif version is not None:
            store.complete_to = max(store.complete_to, version)
            store.deleted = {key: at for key, at in store.deleted.items() if at > version}
        self._sweep()
        return changes

    def is_synced(self, *kinds: str) -> bool:
        """Say whether the first list of these kinds (of all, if none is named) has come in whole."""
        return all(self._stores[kind].is_synced for kind in kinds or self._stores)

    def pod(self, key: str) -> PodChange | None:
        """Return what is known of a pod, by `namespace/name`."""
        found: PodChange | None = self._stores["Pod"].words.get(key)
        return found

    def pods(self) -> Iterator[PodChange]:
        """Yield all pods that have not ended, also those that cannot be read."""
        yield from self._stores["Pod"].words.values()

    def nodes(self) -> Iterator[NodeChange]:
        """Yield all nodes, also those that cannot be read."""
        yield from self._stores["Node"].words.values()

    def context(self) -> dict[str, tuple[Any, ...]]:
        """Return what pods' constraints refer to, as the arguments of `LiveCluster.put_context` and `Snapshot`."""
        return {
            "namespaces": self._words("Namespace"),
            "services": self._words("Service"),
            "controllers": self._words("ReplicaSet", "ReplicationController", "StatefulSet"),
            "volumes": self._words("PersistentVolume"),
            "claims": self._words("PersistentVolumeClaim"),
        }

    def disruption_budgets(self) -> tuple[DisruptionBudget, ...]:
        """Return all PodDisruptionBudgets."""
        return self._words("PodDisruptionBudget")

    def snapshot(self) -> Snapshot:
        """Return all that can be read as a snapshot, everything in the order of its name."""
        nodes = sorted((held.node for held in self.nodes() if held.node is not None), key=lambda node: node.name)
        pods = sorted((held.pod for held in self.pods() if held.pod is not None), key=lambda pod: pod.key)
        return Snapshot(nodes=tuple(nodes), pods=tuple(pods), **self.context())

    def _words(self, *kinds: str) -> tuple[Any, ...]:
        found = [item for kind in kinds for item in sorted(self._stores[kind].words.items())]
        return tuple(word for _, word in found if not isinstance(word, _Refused))

    def _take(self, store: _Store, event: Event, changes: list[Change], *, is_listed: bool) -> None:
        metadata = event.object.metadata
        key = f"{metadata.namespace}/{metadata.name}" if store.resource.is_namespaced else metadata.name
        version, held = _number(metadata.resource_version), store.versions.get(key)
        is_deleted = event.kind == "DELETED"
        if not is_listed and version is not None:
            if held is None and version <= max(store.complete_to, store.deleted.get(key, -1)):
                return
            if held is not None and (version < held or (version == held and not is_deleted)):
                return
        if store.unlisted is not None:
            store.unlisted.discard(key)
        is_finished = isinstance(event.object, wire.Pod) and event.object.status.phase in _FINISHED
        if is_deleted or is_finished:
            if version is not None:
                store.deleted[key] = version
            self._drop(store, key, changes)
            return
        self._put(store, key, event.object, changes)
        if version is not None:
            store.versions[key] = version

    def _put(self, store: _Store, key: str, source: Any, changes: list[Change]) -> None:
        before, word = store.words.get(key), self._read(store, key, source)
        if before == word:
            return
        if isinstance(before, PodChange) and before.uid != word.uid:
            self._drop(store, key, changes)  # another pod of the same name: first the one that was is gone
        store.words[key] = word
        if isinstance(word, PodChange | NodeChange):
            changes.append(word)
        else:
            error = word.error if isinstance(word, _Refused) else None
            changes.append(ContextChange(store.resource.kind, error, _readable(before), _readable(word)))

    def _drop(self, store: _Store, key: str, changes: list[Change]) -> None:
        before = store.words.pop(key, None)
        store.versions.pop(key, None)
        if isinstance(before, PodChange):
            changes.append(PodChange(key, before.namespace, before.name, before.uid, bound_to=before.bound_to))
        elif isinstance(before, NodeChange):
            changes.append(NodeChange(key, None))
        elif before is not None:
            changes.append(ContextChange(store.resource.kind, before=_readable(before)))

    def _read(self, store: _Store, key: str, source: Any) -> Any:
        """Convert an object; one that cannot be read becomes a word that bears the reason."""
        kind, metadata = store.resource.kind, source.metadata
        try:
            if isinstance(source, Unreadable):
                raise ObjectError(kind, key, "(object)", source.reason)
            if kind in ("Pod", "Node"):
                return store.read(source, key)
            identity = surroundings.ObjectIdentity(store.resource.api_version, kind, metadata.namespace, metadata.name)
            return store.read(source, identity)
        except LongshoreError as error:
            if kind == "Node":
                return NodeChange(key, None, str(error))
            if kind == "Pod":
                spec = source.spec if isinstance(source, wire.Pod) else wire.PodSpec()
                return PodChange(
                    *(key, metadata.namespace, metadata.name, metadata.uid, None, str(error)),
                    scheduler_name=spec.scheduler_name,
                    bound_to=spec.node_name,
                )
            return _Refused(str(error))

    def _read_node(self, source: wire.Node, key: str) -> NodeChange:
        """Convert a node; what a slip of the pen says about it is not known, and the node itself stays."""
        return NodeChange(key, *convert.without_unreadable(source, partial(convert.node, share=self._share)))

    def _read_pod(self, source: wire.Pod, key: str) -> PodChange:
        share, meta, status = self._share, source.metadata, source.status
        pod, problem = self._convert_pod(source)
        return PodChange(
            error=problem,
            key=key,
            namespace=pod.spec.namespace,
            name=pod.name,
            uid=meta.uid,
            pod=pod,
            scheduler_name=pod.scheduler_name,
            bound_to=pod.bound_to,
            phase=share(status.phase),
            is_terminating=meta.deletion_timestamp is not None,
            nominated_node=share(status.nominated_node_name),
            preemption_policy=share(source.spec.preemption_policy or ""),
            created=convert.moment(meta.creation_timestamp) or 0.0,
            started=convert.moment(status.start_time),
            conditions=share(_conditions(status)),
        )

    def _convert_pod(self, source: wire.Pod) -> tuple[Pod, str | None]:
        """Convert a pod; one that is bound always counts, and what of it cannot be read is said beside it."""
        try:
            return convert.without_unreadable(source, partial(convert.pod, share=self._share))
        except ObjectError as error:
            if not source.spec.node_name:
                raise
            return convert.stand_in(source), str(error)

    def _share(self, value: Value) -> Value:
        """Return the one of equal values that is kept."""
        found: Value = self._shared.setdefault(value, value)
        return found

    def _sweep(self) -> None:
        """Forget shared values that nobody holds any more, now and then."""
        if len(self._shared) < self._sweep_at:
            return
        self._shared = {}
        for held in self.pods():
            if held.pod is not None:
                for value in (held.pod.spec, held.pod.annotations, held.pod.bound_to, held.conditions):
                    self._share(value)
        for node in self.nodes():
            if node.node is not None:
                for part in (node.node.allocatable, node.node.capacity, node.node.taints, node.node.images):
                    self._share(part)
        self._sweep_at = max(_SWEEP_AT_LEAST, int(_SWEEP_GROWTH * len(self._shared)))


def _readable(word: Any) -> Any:
    return None if isinstance(word, _Refused) else word


def _conditions(status: wire.PodStatus) -> tuple[PodCondition, ...]:
    # That a bound pod is scheduled goes without saying; it would cost every pod of the cluster a tuple with its time.
    return tuple(
        PodCondition(found.type, found.status, found.reason, found.message, found.last_transition_time)
        for found in status.conditions or ()
        if found.type in _KEPT_CONDITIONS and not (found.type == "PodScheduled" and found.status == "True")
    )


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdigit() and len(version) <= 20 else None
