"""The Kubernetes objects of a live workload: the trace's words, moved to namespaces and names of the workload's own.

Pure. Everything bears the label by which `longshore cluster reset` finds it. What schedulers do not read is chosen to
do no harm: a container that only waits, no token, no volumes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from longshore.core.arrays.queries import HOSTNAME_KEY
from longshore.core.words.labels import Labels, Selector, freeze
from longshore.core.words.node import Node
from longshore.core.words.pod import AffinityTerm, Pod, PodSpec, WeightedAffinityTerm
from longshore.core.words.snapshot import Controller, Namespace, Service
from longshore.kube import annotations, manifest, manifest_selectors
from longshore.live.kwok import kwok_annotations, kwok_status
from longshore.workloads.apps import HASH_LABEL

MANAGED_BY = "app.kubernetes.io/managed-by"
WORKLOAD = "longshore-workload"
"""The value of that label on everything that a workload makes; `longshore cluster reset` deletes by it."""
RUN_LABEL = annotations.RUN
"""On the nodes that a workload makes: its namespace. Where the cluster has other nodes, its pods select it."""
LAB_IMAGE = "longshore.dev/pause:1"
"""On every node of `longshore cluster`; it cannot be pulled from anywhere."""
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
HIGHEST_PRIORITY = 1_000_000_000
"""Kubernetes keeps higher ones for itself."""
_NAME_LIMIT = 63

Object = dict[str, Any]


@dataclass(frozen=True)
class Ground:
    """Where a workload is put, and how it is called there."""

    namespace: str
    """The workload's own; that of the trace's pods in `default`."""
    scheduler_name: str = "longshore"
    image: str = PAUSE_IMAGE
    nodes: Mapping[str, str] = field(default_factory=dict)
    """The trace's nodes by the names that they have in the cluster."""
    selects_nodes: bool = False
    """Pods go to the workload's own nodes only."""

    def space(self, name: str) -> str:
        """Return the namespace that stands for one of the trace's."""
        return self.namespace if name == "default" else f"{self.namespace}-{name}"[:_NAME_LIMIT].rstrip("-")

    def priority_class(self, priority: int) -> str:
        """Return the name of the class that gives a priority."""
        sign = "minus-" if priority < 0 else ""
        return f"{self.namespace}-{sign}{abs(priority)}"

    @property
    def pull_policy(self) -> str:
        """The lab's own image is on the nodes already, and nowhere else."""
        return "Never" if self.image == LAB_IMAGE else "IfNotPresent"


def namespace(ground: Ground, word: Namespace) -> Object:
    """Write a namespace of the workload, with the labels that the trace's has."""
    labels = {key: value for key, value in word.labels if key != "kubernetes.io/metadata.name"}
    return _object("v1", "Namespace", {"name": ground.space(word.name), "labels": labels | _own_label()})


def service(ground: Ground, word: Service) -> Object:
    """Write a Service without an address: only its selector counts, for spreading."""
    spec: Object = {"clusterIP": "None"} | ({"selector": dict(word.selector)} if word.selector else {})
    metadata = {"name": word.name, "namespace": ground.space(word.namespace), "labels": _own_label()}
    return _object("v1", "Service", metadata) | {"spec": spec}


def priority_class(ground: Ground, priority: int) -> Object:
    """Write the class that gives pods this priority."""
    body = _object(
        "scheduling.k8s.io/v1", "PriorityClass", {"name": ground.priority_class(priority), "labels": _own_label()}
    )
    return body | {"value": min(priority, HIGHEST_PRIORITY)}


def pod(ground: Ground, word: Pod) -> Object:
    """Write a single pod."""
    written = manifest.pod(_moved(ground, word))
    return _object("v1", "Pod", written["metadata"]) | {"spec": _spec(ground, word, written["spec"])}


def deployment(ground: Ground, name: str, template: Pod, replica_set: Controller, replicas: int) -> Object:
    """Write a Deployment; the hash of its pods' labels is the cluster's to add."""
    labels = tuple(pair for pair in template.spec.labels if pair[0] != HASH_LABEL)
    word = replace(template, spec=replace(template.spec, labels=labels))
    written = manifest.pod(_moved(ground, word))
    metadata = written["metadata"]
    space = metadata["namespace"]
    inner = {"metadata": {key: metadata[key] for key in ("labels", "annotations") if key in metadata}}
    spec = {
        "replicas": replicas,
        "selector": _selector(replica_set, labels),
        "template": inner | {"spec": _spec(ground, word, written["spec"])},
    }
    return _object("apps/v1", "Deployment", {"name": name, "namespace": space, "labels": _own_label()}) | {"spec": spec}


def node(ground: Ground, word: Node) -> Object:
    """Write one of the trace's nodes as a KWOK node."""
    name = ground.nodes[word.name]
    labels = {**dict(word.labels), HOSTNAME_KEY: name, RUN_LABEL: ground.namespace}
    written = manifest.node(replace(word, name=name, labels=freeze(labels)))
    written["metadata"]["labels"] |= _own_label()
    written["metadata"]["annotations"] = written["metadata"].get("annotations", {}) | kwok_annotations()
    written["status"] = kwok_status(name) | written["status"]
    return written


def _moved(ground: Ground, word: Pod) -> Pod:
    """Return the pod as it is called in the cluster."""
    spec = word.spec
    selected = ((RUN_LABEL, ground.namespace),) if ground.selects_nodes else ()
    moved: PodSpec = replace(
        spec,
        namespace=ground.space(spec.namespace),
        labels=freeze(dict(spec.labels) | _own_label()),
        owner=None,
        volumes=(),
        node_name=ground.nodes.get(spec.node_name, spec.node_name),
        node_selector=freeze(dict((*spec.node_selector, *selected))),
        affinity=_terms(ground, spec.affinity),
        anti_affinity=_terms(ground, spec.anti_affinity),
        preferred_affinity=_wishes(ground, spec.preferred_affinity),
        preferred_anti_affinity=_wishes(ground, spec.preferred_anti_affinity),
        is_terminating=False,
    )
    return replace(word, spec=moved, uid="", priority=0, bound_to="", gpu_devices=None, unmodelled=())


def _spec(ground: Ground, word: Pod, spec: Object) -> Object:
    containers = spec.get("containers") or [{"name": "main-0"}]
    priority = {"priorityClassName": ground.priority_class(word.priority)} if word.priority else {}
    return (
        spec
        | priority
        | {
            "schedulerName": ground.scheduler_name,
            "containers": _with_image(ground, containers),
            "initContainers": _with_image(ground, spec.get("initContainers", [])),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
        }
    )


def _with_image(ground: Ground, containers: Sequence[Object]) -> list[Object]:
    return [{**one, "image": ground.image, "imagePullPolicy": ground.pull_policy} for one in containers]


def _terms(ground: Ground, terms: Sequence[AffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(term._replace(namespaces=tuple(map(ground.space, term.namespaces))) for term in terms)


def _wishes(ground: Ground, wishes: Sequence[WeightedAffinityTerm]) -> tuple[WeightedAffinityTerm, ...]:
    return tuple(wish._replace(term=_terms(ground, [wish.term])[0]) for wish in wishes)


def _selector(replica_set: Controller, labels: Labels) -> Object:
    """Return a Deployment's selector: its ReplicaSet's without the hash, else all labels of its pods."""
    requirements = replica_set.selector.requirements if replica_set.selector is not None else ()
    own = tuple(one for one in requirements if one.key != HASH_LABEL)
    return manifest_selectors.selector(Selector(own)) if own else {"matchLabels": dict(labels) or _own_label()}


def _own_label() -> dict[str, str]:
    return {MANAGED_BY: WORKLOAD}


def _object(api_version: str, kind: str, metadata: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
