"""An oracle's case as objects that a real API server takes, with what it insists on beside. Pure.

What a live cluster cannot show is said by `why_not_live`; everything else of a case stays as it is drawn.
"""

from dataclasses import dataclass
from typing import Any, Final

from longshore_lab.oracle.case_pods import NAMESPACE_LABELS

Json = dict[str, Any]

NOBODY: Final = "nobody"
"""The scheduler of pods that are to stay without a node: there is none of that name."""
PRIORITIES: Final = {100: "proof-100", -10: "proof-minus-10", 2_000_000_000: "proof-most"}
"""Priorities of cases come by classes on a live cluster; its own highest are reserved, so one is as high as allowed."""
_HIGHEST = 1_000_000_000
_PATHS: Final = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
}


@dataclass(frozen=True)
class LiveCase:
    """What is written to the API server for one case."""

    index: int
    pod: Json
    """The pod to place, without a scheduler's name."""
    objects: list[Json]
    """Everything around it, pods last."""
    statuses: list[Json]
    """Pods among the objects whose status is written after them: a server takes none with a new pod."""
    terminating: list[Json]
    """Pods among the objects that are deleted with a grace period, which nobody ends."""


def collection(thing: Json) -> str:
    """Return the path of the collection that an object lies in."""
    return _PATHS[thing["kind"]].format(thing["metadata"].get("namespace", ""))


def path(thing: Json) -> str:
    """Return the path of an object."""
    return f"{collection(thing)}/{thing['metadata']['name']}"


def surroundings() -> list[tuple[str, Json]]:
    """Return what all cases share, with the path of its collection: namespaces, service accounts, priority classes."""
    found: list[tuple[str, Json]] = []
    for name, labels in NAMESPACE_LABELS.items():
        found.append((_PATHS["Namespace"], {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}))
    for name in NAMESPACE_LABELS:
        account = {"kind": "ServiceAccount", "metadata": {"name": "default"}}
        found.append((f"/api/v1/namespaces/{name}/serviceaccounts", account))
    for value, name in PRIORITIES.items():
        # Whom such a pod would evict is another question, and would change the case for who comes second.
        priority = {"metadata": {"name": name}, "value": min(value, _HIGHEST), "preemptionPolicy": "Never"}
        found.append(("/apis/scheduling.k8s.io/v1/priorityclasses", priority))
    return found


def why_not_live(case: Json) -> str | None:
    """Say why no scheduler would ever see the pod of a case; None = it would."""
    return "the pod names its node itself" if case["pod"]["spec"].get("nodeName") else None


def live_case(case: Json) -> LiveCase:
    """Turn a case into what is written."""
    objects, statuses, terminating = _runtime_classes(case), [], []
    for item in sorted(case["items"], key=lambda item: item["kind"] == "Pod"):
        if item["kind"] == "Namespace":
            continue  # always there: a pod cannot be in none
        thing = _live(item)
        objects.append(thing)
        if item["kind"] != "Pod":
            continue
        if item["status"].keys() > {"phase"}:
            statuses.append(item)
        if "deletionTimestamp" in item["metadata"]:
            terminating.append(item)
    return LiveCase(case["id"], _live_pod(case["pod"]), objects, statuses, terminating)


def with_scheduler(pod: Json, name: str) -> Json:
    """Return a pod with the name of its scheduler."""
    return {**pod, "spec": {**pod["spec"], "schedulerName": name}}


def _live(item: Json) -> Json:
    if item["kind"] == "Pod":
        pod = _live_pod(item)
        # Without a node it waits for ever; with one it has no use for a scheduler.
        return with_scheduler(pod, NOBODY)
    if item["kind"] in ("ReplicaSet", "StatefulSet", "ReplicationController"):
        return _with_template(item)
    return item


def _live_pod(item: Json) -> Json:
    """Drop what the server writes itself, and name the class of a priority."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "uid" and "deletion" not in key}
    # The token of a service account would be one more volume, and nobody runs the pod.
    spec = {"automountServiceAccountToken": False, **item["spec"]}
    priority = spec.pop("priority", 0)
    if priority:
        spec["priorityClassName"] = PRIORITIES[priority]
    if "runtimeClassName" in spec:
        spec["runtimeClassName"] = _runtime_name(spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _runtime_classes(case: Json) -> list[Json]:
    """Return the classes of which the pods' overheads come: the server compares the two."""
    pods = [case["pod"], *(item for item in case["items"] if item["kind"] == "Pod")]
    specs = {_runtime_name(pod["spec"]): pod["spec"] for pod in pods if "runtimeClassName" in pod["spec"]}
    return [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": "proof",
            **({"overhead": {"podFixed": spec["overhead"]}} if "overhead" in spec else {}),
        }
        for name, spec in specs.items()
    ]


def _runtime_name(spec: Json) -> str:
    overhead = "".join(f"-{name}-{amount}" for name, amount in sorted(spec.get("overhead", {}).items()))
    return f"{spec['runtimeClassName']}{overhead}".lower()


def _with_template(item: Json) -> Json:
    """Give a controller the template that the server insists on; nobody makes pods of it here."""
    selector = item["spec"]["selector"]
    is_plain = item["kind"] == "ReplicationController"
    labels = dict(selector if is_plain else selector.get("matchLabels", {}))
    for requirement in () if is_plain else selector.get("matchExpressions", ()):
        if requirement["operator"] in ("In", "Exists"):
            labels.setdefault(requirement["key"], requirement.get("values", ["x"])[0])
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    more = {"serviceName": "x"} if item["kind"] == "StatefulSet" else {}
    return {**item, "spec": {**item["spec"], **more, "template": template}}
