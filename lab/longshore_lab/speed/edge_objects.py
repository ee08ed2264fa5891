"""The objects of a large, full cluster, as its API server has them: many small applications with all that is theirs."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from longshore.kube import resources
from longshore.kube.resources import Resource

Json = dict[str, Any]
_ZONES: Final = 3
_PODS_PER_APP: Final = 20
_APPS_PER_NAMESPACE: Final = 10
_REVISIONS: Final = 12
"""ReplicaSets that a Deployment keeps: the one that has the pods, and old ones."""
_CPU_PER_POD: Final = 1


class Size(NamedTuple):
    """How large."""

    nodes: int
    pods: int
    objects: int
    """ReplicaSets, Services, claims and volumes together."""

    @property
    def apps(self) -> int:
        """Return how many applications there are."""
        return max(self.pods // _PODS_PER_APP, 1)


def of(resource: Resource, size: Size) -> Iterator[Json]:
    """Yield the objects of a resource."""
    maker = _MAKERS.get(resource.kind)
    if maker is not None:
        yield from maker(size)


def pod(name: str, app: int, node: str = "", cpu: str = "1", **spec: Any) -> Json:
    """Make a pod of an application."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{app}-0", "uid": f"rs-{app}"}
    meta = _meta(name, app) | {"ownerReferences": [owner | {"controller": True}]}
    container = {"name": "c", "image": f"app:{app}", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    body = {"schedulerName": "longshore", "containers": [container], "priority": 0, **spec}
    if node:
        body["nodeName"] = node
    phase = {"phase": "Running" if node else "Pending", "startTime": "2026-01-01T00:00:00Z" if node else None}
    return {"metadata": meta, "spec": body, "status": phase}


def hopeless(size: Size) -> list[tuple[str, Json]]:
    """Return pods for which there is no node, whoever leaves."""
    there, apart = f"node-{size.nodes}", _apart("DoNotSchedule")
    return [
        ("hopeless: more than any node has", pod("giant", 0, cpu="1000", priority=100)),
        (
            "hopeless: a node that does not exist",
            pod("exile", 0, priority=100, nodeSelector={"kubernetes.io/hostname": there}),
        ),
        ("hopeless: full, nobody less important", pod("equal", 0, cpu="8", priority=0)),
        ("hopeless: full, spread over zones", pod("spread", 0, cpu="8", priority=0, topologySpreadConstraints=apart)),
    ]


def preemptors(count: int) -> list[tuple[str, list[Json]]]:
    """Return pods for which others have to leave."""
    term = {"labelSelector": {"matchLabels": {"boss": "zone"}}, "topologyKey": "topology.kubernetes.io/zone"}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plain = [pod(f"boss-{i}", i, cpu="4", priority=100) for i in range(count)]
    apart = [pod(f"zone-{i}", i, cpu="4", priority=100, affinity=rules) for i in range(count)]
    for each in apart[:_ZONES]:
        each["metadata"]["labels"] |= {"boss": "zone"}
    return [("victims", plain), ("victims, apart by zones", apart[:_ZONES])]


def _apart(when: str) -> list[Json]:
    selector = {"matchLabels": {"app": "app-0"}}
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": when,
            "labelSelector": selector,
        }
    ]


def _namespace(app: int) -> str:
    return f"team-{app // _APPS_PER_NAMESPACE}"


def _meta(name: str, app: int) -> Json:
    labels = {"app": f"app-{app}"}
    return {"name": name, "namespace": _namespace(app), "uid": name, "labels": labels, "annotations": {}}


def _nodes(size: Size) -> Iterator[Json]:
    amounts = {"cpu": str(max(size.pods // size.nodes, 1) * _CPU_PER_POD), "memory": "1Ti", "pods": "110"}
    for i in range(size.nodes):
        name = f"node-{i}"
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{i % _ZONES}"}
        status = {"allocatable": amounts, "capacity": amounts}
        yield {"metadata": {"name": name, "labels": labels, "annotations": {}}, "spec": {}, "status": status}


def _pods(size: Size) -> Iterator[Json]:
    for i in range(size.pods):
        yield pod(f"pod-{i}", i % size.apps, f"node-{i % size.nodes}", str(_CPU_PER_POD))


def _namespaces(size: Size) -> Iterator[Json]:
    for i in range(0, size.apps, _APPS_PER_NAMESPACE):
        yield {"metadata": {"name": _namespace(i), "labels": {}}}


def _replica_sets(size: Size) -> Iterator[Json]:
    for i in range(6 * size.objects // 10):
        app, revision = i // _REVISIONS % size.apps, i % _REVISIONS
        labels = {"app": f"app-{app}"}
        yield {"metadata": _meta(f"app-{app}-{revision}", app), "spec": {"selector": {"matchLabels": labels}}}


def _services(size: Size) -> Iterator[Json]:
    for i in range(size.objects // 10):
        app = i % size.apps
        yield {"metadata": _meta(f"service-{i}", app), "spec": {"selector": {"app": f"app-{app}"}}}


def _claims(size: Size) -> Iterator[Json]:
    for i in range(15 * size.objects // 100):
        yield {"metadata": _meta(f"claim-{i}", i % size.apps), "spec": {"volumeName": f"volume-{i}"}}


def _volumes(size: Size) -> Iterator[Json]:
    for i in range(15 * size.objects // 100):
        yield {"metadata": {"name": f"volume-{i}", "labels": {}}, "spec": {"capacity": {"storage": "1Gi"}}}


_MAKERS: Final[dict[str, Callable[[Size], Iterator[Json]]]] = {
    "Node": _nodes,
    "Pod": _pods,
    "Namespace": _namespaces,
    "ReplicaSet": _replica_sets,
    "Service": _services,
    "PersistentVolumeClaim": _claims,
    "PersistentVolume": _volumes,
}


def _labelled(thing: Json) -> Json:
    meta = thing["metadata"]
    return thing | {"metadata": meta | {"labels": {**meta["labels"], "changed": "yes"}}}


def _annotated(thing: Json) -> Json:
    meta = thing["metadata"]
    return thing | {"metadata": meta | {"annotations": {"changed": "yes"}}}


def _selecting(thing: Json) -> Json:
    selector = thing["spec"]["selector"]
    more = {"tier": "web"}
    if "matchLabels" in selector:
        return thing | {"spec": {"selector": {"matchLabels": selector["matchLabels"] | more}}}
    return thing | {"spec": {"selector": selector | more}}


def _rebound(thing: Json) -> Json:
    return thing | {"spec": {"volumeName": "another"}}


CHANGES: Final[list[tuple[str, Resource, Callable[[Json], Json]]]] = [
    ("changed: ReplicaSet", resources.REPLICA_SETS, _selecting),
    ("changed: Service", resources.SERVICES, _selecting),
    ("changed: PersistentVolumeClaim", resources.CLAIMS, _rebound),
    ("changed: PersistentVolume", resources.VOLUMES, _labelled),
    ("changed: Namespace", resources.NAMESPACES, _labelled),
    ("changed: node's annotations (heartbeat)", resources.NODES, _annotated),
    ("changed: node's labels", resources.NODES, _labelled),
    ("changed: pod's annotations", resources.PODS, _annotated),
    ("changed: pod's labels", resources.PODS, _labelled),
]
"""What changes, of which resource, and how."""
