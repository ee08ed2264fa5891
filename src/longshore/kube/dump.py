"""A dump of a cluster (`kubectl get nodes,pods,… -A -o json`) to a `Snapshot`, whole or not at all."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from longshore.core.words.errors import InputError, ObjectError
from longshore.core.words.labels import Labels
from longshore.core.words.snapshot import Snapshot
from longshore.kube import annotations, context, convert, wire

Value = TypeVar("Value")

DUMP_COMMAND = (
    "kubectl get nodes,pods,namespaces,services,replicationcontrollers,replicasets,statefulsets,"
    "pv,pvc,csinodes -A -o json"
)
"""What makes a dump with all that scheduling reads."""
NO_NODES = "no nodes in the dump"
"""The note on a dump from which no pod can be placed: allowed, since dumps may be joined, and seldom meant."""

_HINT = "nothing was imported; correct the object or leave it out"
_DEFAULT_NAMESPACE = "default"
_YAML, _HEAD_BYTES = re.compile(rb"^(apiVersion|kind|items):", re.MULTILINE), 65_536
# Pods in these phases hold nothing any more; upstream's scheduler does not see them either.
_FINISHED = ("Succeeded", "Failed")


class Import(NamedTuple):
    """A snapshot and what was passed over to make it."""

    snapshot: Snapshot
    skipped: dict[str, int]
    """How many objects of which kind were not needed (`Pod (finished)`, `ConfigMap`, `Deployment (apps)`, …)."""
    notes: tuple[str, ...] = ()
    """Remarks for whoever asked for the import; a command prints them on stderr."""


def read_dump(data: bytes, name: str = "the dump") -> Import:
    """Read a list of objects, or one object; `name` is what refusals call the source (`-` = standard input).

    Raises:
        InputError: not JSON, or not a Kubernetes object or list.
        ObjectError: an object that cannot be read, named with field and reason.
    """
    return read_objects(split_dump(data, name))


def split_dump(data: bytes, name: str = "the dump") -> list[msgspec.Raw]:
    """Split a list into its objects, unread, and so the lists in it.

    The API server leaves the kind out of the items of a typed list (`kubectl get --raw`): the list's own gives it.

    Raises:
        InputError: not JSON, or not a Kubernetes object or list.
    """
    try:
        top = msgspec.json.decode(data, type=wire.ObjectList)
        return list(_flatten(wire.Kind(top.api_version, top.kind), msgspec.Raw(data)))
    except wire.UNREADABLE as error:
        source = "standard input" if name == "-" else name
        hint = f"make a dump with `{DUMP_COMMAND}`"
        reason = "it is YAML" if _YAML.search(data[:_HEAD_BYTES]) else error
        raise InputError(f"{source} is not a Kubernetes object in JSON: {reason}", hint) from error


def _flatten(head: wire.Kind, raw: msgspec.Raw) -> Iterator[msgspec.Raw]:
    if not _is_list(head, raw):
        yield raw
        return
    top = msgspec.json.decode(raw, type=wire.ObjectList)
    kind = wire.Kind(top.api_version, top.kind.removesuffix("List"))
    for item in top.items or ():
        inner = _peek(item, wire.Kind)
        if inner is None:
            yield item
        elif inner == wire.Kind() and kind.kind:
            yield _with_kind(item, kind)
        else:
            yield from _flatten(inner, item)


def _is_list(head: wire.Kind, raw: msgspec.Raw) -> bool:
    if not head.kind.endswith("List"):
        return False
    # A list has no name of its own; what has one is an object of a kind that happens to be called so (`AccessList`).
    named = _peek(raw, wire.TypeMeta)
    return named is None or not named.metadata.name


def _with_kind(raw: msgspec.Raw, kind: wire.Kind) -> msgspec.Raw:
    rest = bytes(raw).lstrip()[1:].lstrip()
    comma = b"" if rest.startswith(b"}") else b","
    return msgspec.Raw(msgspec.json.encode(kind)[:-1] + comma + rest)


def _peek(raw: msgspec.Raw, head: type[Value]) -> Value | None:
    """Decode what is readable; what is not is left to be refused where it is read."""
    try:
        return msgspec.json.decode(raw, type=head)
    except wire.UNREADABLE:
        return None


def write_dump(items: Iterable[msgspec.Raw]) -> bytes:
    """Join the objects that scheduling reads into one list, as kubectl prints it; other kinds are left out."""
    kept = [raw for raw in items if _is_read(msgspec.json.decode(raw, type=wire.Kind))]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": kept})


def read_objects(items: Iterable[msgspec.Raw]) -> Import:
    """Read objects of mixed kinds into a snapshot.

    Raises:
        ObjectError: an object that cannot be read, or that stands twice, named with field and reason.
    """
    try:
        found, skipped = _read_all(items)
        snapshot = _snapshot(found)
        _refuse_twins(snapshot)
    except ObjectError as error:
        raise ObjectError(error.kind, error.name, error.field, error.reason, error.hint or _HINT) from error
    return Import(snapshot, dict(skipped), (*(() if snapshot.nodes else (NO_NODES,)), *_slips(snapshot)))


def names(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield kind and full name of everything in a snapshot; in a cluster no two are equal."""
    for kind, words in (
        ("Node", snapshot.nodes),
        ("Namespace", snapshot.namespaces),
        ("PersistentVolume", snapshot.volumes),
    ):
        yield from ((kind, word.name) for word in words)
    yield from (("Pod", pod.key) for pod in snapshot.pods)
    yield from (("Service", f"{word.namespace}/{word.name}") for word in snapshot.services)
    yield from ((word.kind, f"{word.namespace}/{word.name}") for word in snapshot.controllers)
    yield from (("PersistentVolumeClaim", f"{word.namespace}/{word.name}") for word in snapshot.claims)


def _read_all(items: Iterable[msgspec.Raw]) -> tuple[dict[str, list[Any]], Counter[str]]:
    found: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
    skipped: Counter[str] = Counter()
    shared: dict[Any, Any] = {}

    def share(value: Any) -> Any:
        return shared.setdefault(value, value)

    for position, raw in enumerate(items):
        head = _decode_head(raw, f"item {position}")
        if not _is_read(head):
            skipped[_skipped_name(head)] += 1
            continue
        reader = _KINDS[head.kind]
        called = head.metadata
        if not called.name:
            raise ObjectError(head.kind, f"item {position}", "metadata.name", "is missing")
        namespace = called.namespace or _DEFAULT_NAMESPACE if reader.is_namespaced else ""
        identity = context.ObjectIdentity(reader.api_version, head.kind, namespace, called.name)
        source = _decode(raw, reader.body, head.kind, identity.full_name)
        if head.kind == "Pod" and source.status.phase in _FINISHED:
            skipped["Pod (finished)"] += 1
            continue
        found[head.kind].append(reader.word(source, identity, share))
    return found, skipped


def _is_read(head: wire.Kind) -> bool:
    # kubectl always prints a version; an object written by hand may leave it out and mean the only one that is read.
    return head.kind in _KINDS and head.api_version in ("", _KINDS[head.kind].api_version)


def _skipped_name(head: wire.Kind) -> str:
    group = head.api_version.rpartition("/")[0]
    if head.kind in _KINDS and group == _KINDS[head.kind].api_version.rpartition("/")[0]:
        group = head.api_version  # another version of what is read: the group would not tell them apart
    return (head.kind or "object without a kind") + (f" ({group})" if group else "")


def _snapshot(found: dict[str, list[Any]]) -> Snapshot:
    return Snapshot(
        nodes=tuple(found["Node"]),
        pods=tuple(found["Pod"]),
        namespaces=tuple(found["Namespace"]),
        services=tuple(found["Service"]),
        controllers=tuple(found["ReplicaSet"] + found["ReplicationController"] + found["StatefulSet"]),
        volumes=tuple(found["PersistentVolume"]),
        claims=tuple(found["PersistentVolumeClaim"]),
        volume_limits=tuple(limit for limits in found["CSINode"] for limit in limits),
    )


def _slips(snapshot: Snapshot) -> Iterator[str]:
    """Name annotations and labels that look like ours, with how many nodes or pods have them."""
    of_nodes = (annotations.unknown_keys(_keys(node.annotations, node.labels), is_pod=False) for node in snapshot.nodes)
    of_pods = (annotations.unknown_keys(_keys(pod.annotations, pod.spec.labels), is_pod=True) for pod in snapshot.pods)
    for kind, all_found in (("node", of_nodes), ("pod", of_pods)):
        for sentence, count in Counter(one for found in all_found for one in found).items():
            yield f"{count} {kind}{'s' * (count > 1)}: {sentence}"


def _keys(*pairs: Labels) -> Iterator[str]:
    return (key for part in pairs for key, _ in part)


def _refuse_twins(snapshot: Snapshot) -> None:
    for (kind, name), count in Counter(names(snapshot)).items():
        if count > 1:
            raise ObjectError(kind, name, "metadata.name", f"stands {count} times in the dump, expected once")


def _decode_head(raw: msgspec.Raw, place: str) -> wire.TypeMeta:
    head = _peek(raw, wire.TypeMeta)
    if head is None:  # its kind may be readable all the same
        kind = _peek(raw, wire.Kind)
        head = _decode(raw, wire.TypeMeta, (kind and kind.kind) or "object", place)
    return head


def _decode(raw: msgspec.Raw, body: type[Value], kind: str, name: str) -> Value:
    try:
        return msgspec.json.decode(raw, type=body)
    except wire.UNREADABLE as error:
        reason, _, path = str(error).partition(" - at ")
        raise ObjectError(kind, name, path.strip("`$.") or "(top)", reason) from error


class _Kind(NamedTuple):
    """How objects of a kind are read, and of which version of the API they must be."""

    api_version: str
    body: type[Any]
    word: Callable[[Any, context.ObjectIdentity, convert.Share], Any]
    is_namespaced: bool = True


def _alone(read: Callable[[Any, context.ObjectIdentity], Any]) -> Callable[..., Any]:
    """Read objects that have no part in common with others of their kind."""
    return lambda source, identity, _share: read(source, identity)


# Other groups have kinds of the same names (Knative's Service, Longhorn's Node): they mean something else.
_KINDS: dict[str, _Kind] = {
    "Node": _Kind("v1", wire.Node, lambda source, _, share: convert.node(source, share=share), is_namespaced=False),
    "Pod": _Kind("v1", wire.Pod, lambda source, _, share: convert.pod(source, share=share)),
    "CSINode": _Kind("storage.k8s.io/v1", wire.CSINode, _alone(context.volume_limits), is_namespaced=False),
    "Namespace": _Kind("v1", wire.Namespace, _alone(context.namespace), is_namespaced=False),
    "Service": _Kind("v1", wire.Service, _alone(context.service)),
    "ReplicaSet": _Kind("apps/v1", wire.Workload, _alone(context.workload)),
    "StatefulSet": _Kind("apps/v1", wire.Workload, _alone(context.workload)),
    "ReplicationController": _Kind("v1", wire.ReplicationController, _alone(context.replication_controller)),
    "PersistentVolume": _Kind("v1", wire.PersistentVolume, _alone(context.volume), is_namespaced=False),
    "PersistentVolumeClaim": _Kind("v1", wire.PersistentVolumeClaim, _alone(context.claim)),
}
