"""A dump of a cluster (`kubectl get nodes,pods,… -A -o json`) to a `Snapshot`, whole or not at all."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import msgspec

from longshore.core.errors import InputError, ObjectError
from longshore.core.labels import freeze
from longshore.core.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
)
from longshore.kube import convert, selectors, wire

Value = TypeVar("Value")

# Bytes that are no text surface as Python's own error, and so does nesting that no object has.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
DUMP_COMMAND = (
    "kubectl get nodes,pods,namespaces,services,replicationcontrollers,replicasets,statefulsets,pv,pvc -A -o json"
)
"""What makes a dump with all that scheduling reads."""

# Pods in these phases hold nothing any more; upstream's scheduler does not see them either.
_FINISHED = ("Succeeded", "Failed")


class Import(NamedTuple):
    """A snapshot and what was passed over to make it."""

    snapshot: Snapshot
    skipped: dict[str, int]
    """How many objects of which kind were not needed (`Pod (finished)`, `ConfigMap`, …)."""


def read_dump(data: bytes, name: str = "the dump") -> Import:
    """Read a list of objects, or one object; `name` is what refusals call the source.

    Raises:
        InputError: not JSON, or not a Kubernetes object or list.
        ObjectError: an object that cannot be read, named with field and reason.
    """
    return read_objects(split_dump(data, name))


def split_dump(data: bytes, name: str = "the dump") -> list[msgspec.Raw]:
    """Split a list into its objects, unread.

    Raises:
        InputError: not JSON, or not a Kubernetes object or list.
    """
    try:
        top = msgspec.json.decode(data, type=wire.ObjectList)
    except _UNREADABLE as error:
        hint = f"make a dump with `{DUMP_COMMAND}`"
        raise InputError(f"{name} is not a Kubernetes object in JSON: {error}", hint) from error
    return [msgspec.Raw(data)] if top.items is None else top.items


def write_dump(items: Iterable[msgspec.Raw]) -> bytes:
    """Join the objects that scheduling reads into one list, as kubectl prints it; other kinds are left out."""
    kept = [raw for raw in items if msgspec.json.decode(raw, type=wire.TypeMeta).kind in _KINDS]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": kept})


def read_objects(items: Iterable[msgspec.Raw]) -> Import:
    """Read objects of mixed kinds into a snapshot."""
    found: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
    skipped: Counter[str] = Counter()
    for position, raw in enumerate(items):
        head = _decode(raw, wire.TypeMeta, f"item {position}", "object")
        if head.kind not in _KINDS:
            skipped[head.kind or "object without a kind"] += 1
            continue
        body, word = _KINDS[head.kind]
        name = f"{head.metadata.namespace}/{head.metadata.name}" if head.metadata.namespace else head.metadata.name
        if not head.metadata.name:
            raise ObjectError(head.kind, f"item {position}", "metadata.name", "is missing")
        source = _decode(raw, body, name, head.kind)
        if head.kind == "Pod" and source.status.phase in _FINISHED:
            skipped["Pod (finished)"] += 1
            continue
        found[head.kind].append(word(source, head))
    return Import(_snapshot(found), dict(skipped))


def _snapshot(found: dict[str, list[Any]]) -> Snapshot:
    _refuse_twins("Node", [node.name for node in found["Node"]])
    _refuse_twins("Pod", [pod.key for pod in found["Pod"]])
    return Snapshot(
        nodes=tuple(found["Node"]),
        pods=tuple(found["Pod"]),
        namespaces=tuple(found["Namespace"]),
        services=tuple(found["Service"]),
        controllers=tuple(found["ReplicaSet"] + found["ReplicationController"] + found["StatefulSet"]),
        volumes=tuple(found["PersistentVolume"]),
        claims=tuple(found["PersistentVolumeClaim"]),
    )


def _refuse_twins(kind: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ObjectError(kind, name, "metadata.name", f"stands {count} times in the dump, expected once")


def _decode(raw: msgspec.Raw, body: type[Any], name: str, kind: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=body)
    except _UNREADABLE as error:
        reason, _, path = str(error).partition(" - at ")
        raise ObjectError(kind, name, path.strip("`$.") or "(top)", reason) from error


def _workload(source: wire.Workload, head: wire.TypeMeta) -> Controller:
    chosen = _selected(head, "spec.selector", lambda: selectors.selector(source.spec.selector))
    return Controller(head.api_version, head.kind, head.metadata.namespace, head.metadata.name, chosen)


def _replication_controller(source: wire.ReplicationController, head: wire.TypeMeta) -> Controller:
    chosen = selectors.set_selector(source.spec.selector)
    return Controller(head.api_version, head.kind, head.metadata.namespace, head.metadata.name, chosen)


def _selected(head: wire.TypeMeta, field: str, convert_selector: Callable[[], Value]) -> Value:
    try:
        return convert_selector()
    except selectors.SelectorError as error:
        raise ObjectError(head.kind, head.metadata.name, field, str(error)) from error


def _service(source: wire.Service, head: wire.TypeMeta) -> Service:
    chosen = source.spec.selector
    return Service(head.metadata.namespace, head.metadata.name, None if chosen is None else freeze(chosen))


def _claim(source: wire.PersistentVolumeClaim, head: wire.TypeMeta) -> PersistentVolumeClaim:
    modes = tuple(source.spec.access_modes or ())
    return PersistentVolumeClaim(head.metadata.namespace, head.metadata.name, source.spec.volume_name, modes)


def _volume(source: wire.PersistentVolume, head: wire.TypeMeta) -> PersistentVolume:
    affinity = source.spec.node_affinity
    terms = _selected(head, "spec.nodeAffinity", lambda: selectors.node_terms(affinity.required if affinity else None))
    return PersistentVolume(head.metadata.name, freeze(source.metadata.labels), terms, source.spec.csi is not None)


_Word = Callable[[Any, wire.TypeMeta], Any]
_KINDS: dict[str, tuple[type[Any], _Word]] = {
    "Node": (wire.Node, lambda source, _: convert.node(source)),
    "Pod": (wire.Pod, lambda source, _: convert.pod(source)),
    "Namespace": (wire.Namespace, lambda _, head: Namespace(head.metadata.name, freeze(head.metadata.labels))),
    "Service": (wire.Service, _service),
    "ReplicaSet": (wire.Workload, _workload),
    "StatefulSet": (wire.Workload, _workload),
    "ReplicationController": (wire.ReplicationController, _replication_controller),
    "PersistentVolume": (wire.PersistentVolume, _volume),
    "PersistentVolumeClaim": (wire.PersistentVolumeClaim, _claim),
}
