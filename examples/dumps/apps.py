"""What runs in a cluster: Deployments and their ReplicaSets, DaemonSets, StatefulSets with volumes, Jobs."""

from collections.abc import Sequence
from typing import Any

from objects import Cluster, Object, pod, reference

ZONE = "topology.kubernetes.io/zone"


def choose(cluster: Cluster, nodes: Sequence[Object], millis: int, mib: int) -> str:
    """Choose a node as upstream's default does, roughly: the emptiest of a few that have room; empty = none has."""
    with_room = [
        node["metadata"]["name"]
        for node in nodes
        if (left := cluster.free[node["metadata"]["name"]])["cpu"] >= millis
        and left["memory"] >= mib
        and left["pods"] >= 1
    ]
    some = cluster.random.sample(with_room, min(len(with_room), 4))
    return max(some, key=lambda name: cluster.free[name]["cpu"], default="")


def deployment(
    cluster: Cluster, namespace: str, name: str, replicas: int, nodes: Sequence[Object], **parts: Any
) -> None:
    """Add a Deployment, an old ReplicaSet of it and the current one, and its pods; `hpa` = an autoscaler, too."""
    labels, requests = {"app.kubernetes.io/name": name}, parts.pop("requests", (100, 128))
    kind, api_version = parts.pop("kind", "Deployment"), parts.pop("api_version", "apps/v1")
    owner = cluster.add(
        api_version,
        kind,
        name,
        namespace,
        metadata={"labels": labels, "generation": 7},
        spec={"replicas": replicas, "selector": {"matchLabels": labels}, "strategy": {"type": "RollingUpdate"}},
        status={"availableReplicas": replicas, "readyReplicas": replicas, "replicas": replicas},
    )
    if parts.pop("hpa", False):
        target = {"apiVersion": api_version, "kind": kind, "name": name}
        spec = {"maxReplicas": 3 * replicas, "minReplicas": 2, "scaleTargetRef": target}
        cluster.add("autoscaling/v2", "HorizontalPodAutoscaler", name, namespace, spec=spec)
    current = {}
    for count in (0, replicas):
        current = labels | {"pod-template-hash": cluster.text(10)}
        sets = cluster.add(
            "apps/v1",
            "ReplicaSet",
            f"{name}-{current['pod-template-hash']}",
            namespace,
            metadata={"labels": current, "ownerReferences": [reference(owner)]},
            spec={
                "replicas": count,
                "selector": {"matchLabels": current},
                "template": {"metadata": {"labels": current}},
            },
            status={"replicas": count},
        )
    cluster.add(
        "v1", "Service", name, namespace, spec={"selector": labels, "type": "ClusterIP", "clusterIP": "172.20.1.9"}
    )
    for _ in range(replicas):
        on = choose(cluster, nodes, *requests)
        pod_name = f"{sets['metadata']['name']}-{cluster.text(5)}"
        pod(cluster, pod_name, namespace, on, reference(sets), requests=requests, labels=current, **_copied(parts))


def daemon_set(cluster: Cluster, namespace: str, name: str, nodes: Sequence[Object], **parts: Any) -> None:
    """Add a DaemonSet, and its pod on each node."""
    labels = {"k8s-app": name}
    spec = {"selector": {"matchLabels": labels}, "updateStrategy": {"type": "RollingUpdate"}}
    owner = cluster.add("apps/v1", "DaemonSet", name, namespace, spec=spec)
    for node in nodes:
        on = node["metadata"]["name"]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        own = {"affinity": {"nodeAffinity": required}, "tolerations": [{"operator": "Exists"}]}
        labelled = labels | {"controller-revision-hash": "67f8d9c5b4", "pod-template-generation": "3"}
        given = {"labels": labelled, "spec": own, **_copied(parts)}
        pod(cluster, f"{name}-{cluster.text(5)}", namespace, on, reference(owner), **given)


def stateful_set(
    cluster: Cluster, namespace: str, name: str, replicas: int, nodes: Sequence[Object], **parts: Any
) -> None:
    """Add a StatefulSet whose pods have a volume each, of a CSI driver or, without one, on the node."""
    labels, requests, driver = {"app": name}, parts.pop("requests", (500, 2048)), parts.pop("driver", "")
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "serviceName": name}
    owner = cluster.add("apps/v1", "StatefulSet", name, namespace, spec=spec, status={"replicas": replicas})
    for number in range(replicas):
        on = choose(cluster, nodes, *requests)
        if not on:
            return  # the next one is made when this one runs
        claim, volume = f"data-{name}-{number}", f"pvc-{cluster.uid()}"
        host = next(node for node in nodes if node["metadata"]["name"] == on)["metadata"]["labels"]
        key = ZONE if driver else "kubernetes.io/hostname"
        _volume(cluster, volume, (namespace, claim), driver, {"key": key, "operator": "In", "values": [host[key]]})
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        given = {"requests": requests, "labels": labels | {"apps.kubernetes.io/pod-index": str(number)}}
        pod(cluster, f"{name}-{number}", namespace, on, reference(owner), volumes=volumes, **given, **_copied(parts))


def job(cluster: Cluster, namespace: str, name: str, nodes: Sequence[Object], **parts: Any) -> None:
    """Add a Job and its pod; `status` says whether it has ended."""
    requests = parts.pop("requests", (500, 1024))
    owner = cluster.add("batch/v1", "Job", name, namespace, spec={"completions": 1, "parallelism": 1})
    on = choose(cluster, nodes, *requests)
    labels = {"batch.kubernetes.io/job-name": name}
    given = {"requests": requests, "labels": labels, "spec": {"restartPolicy": "Never"}, **_copied(parts)}
    pod(cluster, f"{name}-{cluster.text(5)}", namespace, on, reference(owner), **given)


def _volume(cluster: Cluster, name: str, of: tuple[str, str], driver: str, where: Object) -> None:
    namespace, claim = of
    source: Object = {"local": {"path": f"/mnt/disks/{claim}"}}
    if driver:
        source = {"csi": {"driver": driver, "fsType": "ext4", "volumeHandle": f"vol-0{cluster.number(9)}"}}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "50Gi"}, "storageClassName": "standard"}
    cluster.add(
        "v1",
        "PersistentVolume",
        name,
        spec=spec | source | {"nodeAffinity": affinity, "claimRef": {"kind": "PersistentVolumeClaim", "name": claim}},
        status={"phase": "Bound"},
    )
    asked = {"resources": {"requests": {"storage": "50Gi"}}, "volumeName": name, "volumeMode": "Filesystem"}
    claimed = {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"} | asked
    cluster.add("v1", "PersistentVolumeClaim", claim, namespace, spec=claimed, status={"phase": "Bound"})


def _copied(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if isinstance(value, dict) else value for name, value in parts.items()}
