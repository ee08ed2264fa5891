"""Our words to Kubernetes objects: the inverse of `convert` and `dump`, one word in, one manifest (a dict) out.

`convert(manifest(word)) == word` for every word that `convert` can make. What our words do not keep (containers' names,
volumes' data) gets a stand-in that means the same to a scheduler. Annotations follow the fields that are read from
them: a text that says the same is kept as it is. Readings other than latency have no place in a manifest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from longshore.core.words.labels import Labels
from longshore.core.words.node import CARBON, POWER, PRICE, Node
from longshore.core.words.pod import (
    ANY_IP,
    LATENCY_HARD_ANNOTATIONS,
    LATENCY_SOFT_ANNOTATIONS,
    Container,
    HostPort,
    Pod,
    ResourceNanos,
    Volume,
)
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.snapshot import Controller, Namespace, PersistentVolume, PersistentVolumeClaim, Service
from longshore.kube import annotations, manifest_selectors, wire

Manifest = dict[str, Any]
_BINARY_SUFFIXES = (("Ei", 2**60), ("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
# When a pod that is being deleted was deleted is not kept; that it was, is.
_SOME_TIME = "1970-01-01T00:00:00Z"


def pod(word: Pod) -> Manifest:
    """Write a pod; one that waits and names its node reads back with `convert.pod(…, is_incoming=True)`."""
    spec, owner = word.spec, word.spec.owner
    reference = owner and {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}
    metadata = {
        "name": word.name,
        "namespace": spec.namespace,
        "uid": word.uid,
        "labels": dict(spec.labels),
        "annotations": _pod_annotations(word),
        "deletionTimestamp": _SOME_TIME if spec.is_terminating else None,
        "ownerReferences": [reference] if reference else None,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _given(metadata), "spec": _pod_spec(word)}


def node(word: Node) -> Manifest:
    """Write a node."""
    images = [{"names": list(image.names), "sizeBytes": image.size_bytes} for image in word.images]
    taints = [_given(taint._asdict()) for taint in word.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _given({"name": word.name, "labels": dict(word.labels), "annotations": _node_annotations(word)}),
        "spec": _given({"taints": taints, "unschedulable": word.is_unschedulable}),
        "status": _given(
            {"capacity": _resources(word.capacity), "allocatable": _resources(word.allocatable), "images": images}
        ),
    }


def namespace(word: Namespace) -> Manifest:
    """Write a namespace."""
    return _object("v1", "Namespace", "", word.name, labels=word.labels)


def service(word: Service) -> Manifest:
    """Write a service; an empty selector is not the same as none."""
    spec: Manifest = {} if word.selector is None else {"selector": dict(word.selector)}
    return _object("v1", "Service", word.namespace, word.name, spec)


def controller(word: Controller) -> Manifest:
    """Write a ReplicaSet, ReplicationController or StatefulSet."""
    if word.selector is None:
        spec: Manifest = {}
    elif word.kind == "ReplicationController":
        spec = {"selector": {requirement.key: requirement.values[0] for requirement in word.selector.requirements}}
    else:
        spec = {"selector": manifest_selectors.selector(word.selector)}
    return _object(word.api_version, word.kind, word.namespace, word.name, spec)


def volume(word: PersistentVolume) -> Manifest:
    """Write a persistent volume; of its driver the name is kept."""
    spec: Manifest = {"csi": {"driver": word.csi_driver} if word.csi_driver else {}} if word.is_csi else {}
    if word.node_affinity is not None:
        spec["nodeAffinity"] = {"required": manifest_selectors.node_terms(word.node_affinity)}
    return _object("v1", "PersistentVolume", "", word.name, spec, labels=word.labels)


def claim(word: PersistentVolumeClaim) -> Manifest:
    """Write a persistent volume claim."""
    spec = _given({"volumeName": word.volume_name, "accessModes": list(word.access_modes)})
    written = _object("v1", "PersistentVolumeClaim", word.namespace, word.name, spec)
    if word.volume_name and not word.is_half_bound:
        written["metadata"]["annotations"] = {wire.BIND_COMPLETED: "yes"}
    if word.is_being_deleted:
        written["metadata"]["deletionTimestamp"] = _SOME_TIME
    return written | ({"status": {"phase": "Lost"}} if word.is_lost else {})


def quantity(name: str, nanos: int) -> str:
    """Write an amount as a quantity, exactly: bytes with binary suffixes, everything else in units, milli or nano."""
    units, rest = divmod(nanos, NANOS_PER_UNIT)
    if rest:
        return f"{nanos // NANOS_PER_MILLI}m" if nanos % NANOS_PER_MILLI == 0 else f"{nanos}n"
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        for suffix, size in _BINARY_SUFFIXES:
            if units and units % size == 0:
                return f"{units // size}{suffix}"
    return str(units)


def _object(
    api_version: str, kind: str, namespace: str, name: str, spec: Manifest | None = None, labels: Labels = ()
) -> Manifest:
    metadata = _given({"name": name, "namespace": namespace, "labels": dict(labels)})
    body = {} if spec is None else {"spec": spec}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def _given(fields: Mapping[str, Any]) -> Manifest:
    """Leave out what is empty, where empty and absent mean the same."""
    return {key: value for key, value in fields.items() if value}


def _pod_spec(word: Pod) -> Manifest:
    spec = word.spec
    fields = {
        "nodeName": word.bound_to or spec.node_name,
        "schedulerName": "" if word.scheduler_name == "default-scheduler" else word.scheduler_name,
        "priority": word.priority,
        "initContainers": _containers(spec.init_containers, "init"),
        "containers": _containers(spec.containers, "main"),
        "overhead": _resources(spec.overhead),
        "resources": _given({"requests": _resources(spec.pod_requests)}),
        "tolerations": [_given(toleration._asdict()) for toleration in spec.tolerations],
        "nodeSelector": dict(spec.node_selector),
        "affinity": manifest_selectors.affinity(spec),
        "topologySpreadConstraints": [manifest_selectors.spread(term, spec.labels) for term in spec.spread],
        "volumes": [_volume(position, held) for position, held in enumerate(spec.volumes)],
        "schedulingGates": [{"name": gate} for gate in word.scheduling_gates],
    }
    return _with_unmodelled(_given(fields), word.unmodelled)


def _with_unmodelled(fields: Manifest, unmodelled: Iterable[str]) -> Manifest:
    """Use the fields that no filter reads in the smallest way in which they are recognised."""
    if "spec.resourceClaims" in unmodelled:
        fields["resourceClaims"] = [{"name": "claim"}]
    if "spec.schedulingGroup" in unmodelled:
        fields["schedulingGroup"] = {"podGroupName": "group"}
    if "spec.hostUsers" in unmodelled:
        fields |= {"hostUsers": False, "hostNetwork": True}
    if "spec.containers[*].restartPolicyRules" in unmodelled:
        for container in [*fields.get("containers", ()), *fields.get("initContainers", ())][:1]:
            container["restartPolicyRules"] = [{"action": "RestartAllContainers"}]
    return fields


def _containers(containers: Iterable[Container], prefix: str) -> list[Manifest]:
    return [
        {"name": f"{prefix}-{position}"}
        | _given(
            {
                "image": container.image,
                "resources": _given(
                    {"requests": _resources(container.requests), "limits": _resources(container.limits)}
                ),
                "ports": [_port(port) for port in container.ports],
                "restartPolicy": "Always" if container.is_sidecar else "",
            }
        )
        for position, container in enumerate(containers)
    ]


def _port(port: HostPort) -> Manifest:
    ip = "" if port.ip == ANY_IP else port.ip
    return _given({"containerPort": port.port, "hostPort": port.port, "protocol": port.protocol, "hostIP": ip})


def _volume(position: int, held: Volume) -> Manifest:
    names = {"persistentVolumeClaim": "claimName", "image": "reference", "emptyDir": "medium"}
    source = {names[held.source]: held.name} if held.source in names and held.name else {}
    return {"name": f"volume-{position}", held.source: source}


def _resources(amounts: ResourceNanos) -> dict[str, str]:
    return {name: quantity(name, nanos) for name, nanos in amounts}


def _pod_annotations(word: Pod) -> dict[str, str]:
    spec, notes = word.spec, dict(word.annotations)
    _keep_limit(notes, LATENCY_SOFT_ANNOTATIONS, spec.latency_soft_ms)
    _keep_limit(notes, LATENCY_HARD_ANNOTATIONS, spec.latency_hard_ms)
    gpu = spec.gpu
    # Either of the two makes a request for GPUs, and each has a default where only the other is given.
    _keep(notes, annotations.GPU_MILLI, gpu and gpu.milli, int, str, 1000 if gpu else None)
    _keep(notes, annotations.GPU_COUNT, gpu and gpu.count, int, str, 1 if annotations.GPU_MILLI in notes else None)
    if gpu:
        _keep(notes, annotations.GPU_MODEL, gpu.models or None, _models, "|".join)
    _keep(notes, annotations.GPU_DEVICES, word.gpu_devices, _whole_list, lambda held: ",".join(map(str, held)))
    return notes


def _node_annotations(word: Node) -> dict[str, str]:
    notes, labels = dict(word.annotations), dict(word.labels)
    _keep(notes, annotations.LATENCY_MS, word.readings.latency_ms, float, _number)
    zones = word.readings.zone_latency_ms
    _keep(notes, annotations.ZONE_LATENCY_MS, zones, _read_zone_latency, _write_zone_latency, ())
    _keep(notes, annotations.GPU_COUNT, word.gpu_count, int, str, 0)
    _keep(notes, annotations.GPU_MODEL, word.gpu_model, str, str, labels.get(annotations.GPU_MODEL, ""))
    _keep(
        notes,
        annotations.WATTS,
        None if POWER in word.assumed else word.power.watts_at_load,
        lambda text: tuple(float(part) for part in text.split(",")),
        lambda curve: ",".join(map(_number, curve)),
    )
    cost = None if PRICE in word.assumed else word.cost_per_hour
    _keep(notes, annotations.COST_PER_HOUR, cost, float, _number)
    carbon = None if CARBON in word.assumed else word.carbon_grams_per_kwh
    _keep(notes, annotations.CARBON_GRAMS_PER_KWH, carbon, float, _number)
    return notes


def _keep(
    notes: dict[str, str],
    key: str,
    value: Any,
    read: Callable[[str], Any],
    write: Callable[[Any], str],
    default: Any = None,
) -> None:
    """Make the annotation say `value`; leave a text that says so already, and none where `value` is the default."""
    text = notes.get(key)
    if text is not None:
        try:
            if read(text) == value:
                return
        except ValueError:
            pass  # another text than the field was read from: the field counts
        del notes[key]
    if value != default:
        notes[key] = write(value)


def _keep_limit(notes: dict[str, str], names: Sequence[str], limit_ms: float | None) -> None:
    """Say a limit by the name that it has been said by."""
    _keep(notes, next((name for name in names if name in notes), names[0]), limit_ms, float, _number)
    if limit_ms is None:
        notes.pop(names[1], None)  # it would count now


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _read_zone_latency(text: str) -> tuple[tuple[str, float], ...]:
    pairs = (part.partition("=") for part in text.split(","))
    return tuple(sorted((zone.strip(), float(milliseconds)) for zone, _, milliseconds in pairs))


def _write_zone_latency(zones: tuple[tuple[str, float], ...]) -> str:
    return ",".join(f"{zone}={_number(milliseconds)}" for zone, milliseconds in zones)


def _models(text: str) -> tuple[str, ...] | None:
    return tuple(sorted(model for model in text.split("|") if model)) or None


def _whole_list(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))
