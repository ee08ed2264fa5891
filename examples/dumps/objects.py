"""Kubernetes objects as `kubectl get -o json` prints them, with all the fields that nobody reads."""

import hashlib
import random
import uuid
from typing import Any

Object = dict[str, Any]

START = "2026-09-01T06:00:00Z"
DAY_SECONDS = 86_400


class Cluster:
    """Objects that are made one after the other; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        """Begin with nothing."""
        self.random = random.Random(seed)
        self.items: list[Object] = []
        self.free: dict[str, dict[str, float]] = {}
        """By node: what is left of CPU (millis), memory (MiB) and pods."""

    def add(self, api_version: str, kind: str, name: str, namespace: str = "", **parts: Any) -> Object:
        """Add an object; `metadata` among the parts is put into its metadata."""
        metadata = {
            "name": name,
            "creationTimestamp": self.moment(),
            "uid": self.uid(),
            "resourceVersion": self.number(9),
        }
        if namespace:
            metadata["namespace"] = namespace
        metadata |= parts.pop("metadata", {})
        metadata["managedFields"] = [_managed(manager) for manager in ("kube-controller-manager", "kubelet")]
        found = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}
        self.items.append(found)
        return found

    def uid(self) -> str:
        """Draw a UID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def number(self, digits: int) -> str:
        """Draw a number of so many digits."""
        return str(self.random.randrange(10 ** (digits - 1), 10**digits))

    def text(self, length: int) -> str:
        """Draw the end of a name, as Kubernetes makes them."""
        return "".join(self.random.choices("bcdfghjklmnpqrstvwxz2456789", k=length))

    def moment(self) -> str:
        """Draw a moment of some ninety days."""
        second = self.random.randrange(75 * DAY_SECONDS)
        month, day = divmod(second // DAY_SECONDS, 28)
        hour, rest = divmod(second % DAY_SECONDS, 3600)
        return f"2026-{9 + month:02d}-{day + 1:02d}T{hour:02d}:{rest // 60:02d}:{rest % 60:02d}Z"

    def as_list(self) -> Object:
        """Return everything as kubectl's list."""
        return {"apiVersion": "v1", "items": self.items, "kind": "List", "metadata": {"resourceVersion": ""}}


def node(cluster: Cluster, name: str, labels: dict[str, str], size: tuple[int, int, int], **parts: Any) -> Object:
    """Add a node that has so many CPUs, GiB and pods, of which system processes keep a little."""
    cpus, gib, pods = size
    have = {"cpu": f"{cpus * 1000 - 80}m", "memory": f"{gib * 2**20 - 800_000}Ki", "pods": str(pods)}
    have |= {"ephemeral-storage": "95551679124", "hugepages-1Gi": "0", "hugepages-2Mi": "0"} | parts.pop("devices", {})
    cluster.free[name] = {"cpu": cpus * 1000 - 80, "memory": gib * 1024 - 800, "pods": pods}
    annotations = {
        "alpha.kubernetes.io/provided-node-ip": f"10.0.{cluster.random.randrange(256)}.{cluster.random.randrange(256)}",
        "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"i-0' + cluster.number(9) + '"}',
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    } | labels
    return cluster.add(
        "v1",
        "Node",
        name,
        metadata={"labels": labels, "annotations": annotations | parts.pop("annotations", {})},
        spec={"providerID": f"example:///{name}"} | parts.pop("spec", {}),
        status=_node_status(cluster, name, have, have | {"cpu": str(cpus), "memory": f"{gib * 2**20}Ki"}),
    )


def pod(cluster: Cluster, name: str, namespace: str, on: str, owner: Object, **parts: Any) -> Object:
    """Add a running pod.

    Args:
        cluster: to which it is added.
        name: of the pod.
        namespace: of the pod.
        on: the node that it runs on; empty = it waits.
        owner: its owner reference.
        **parts: `requests` (millis, MiB), `gpus`, `labels`, `annotations`, `volumes`, `spec` and `status` to add.
    """
    millis, mib = parts.pop("requests", (100, 128))
    asked = {
        name: text for name, text, amount in (("cpu", f"{millis}m", millis), ("memory", f"{mib}Mi", mib)) if amount
    }
    limits = {"memory": f"{2 * mib}Mi"} if mib else {}
    if gpus := parts.pop("gpus", 0):
        asked, limits = asked | {"nvidia.com/gpu": str(gpus)}, limits | {"nvidia.com/gpu": str(gpus)}
    token = f"kube-api-access-{cluster.text(5)}"
    if on:
        left = cluster.free[on]
        left["cpu"], left["memory"], left["pods"] = left["cpu"] - millis, left["memory"] - mib, left["pods"] - 1
    spec = {
        "containers": [_container(name, token, {"limits": limits, "requests": asked} if asked else {})],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        **({"nodeName": on} if on else {}),
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [_token_volume(token), *parts.pop("volumes", [])],
    }
    extra = parts.pop("spec", {})
    spec["tolerations"] = [*spec["tolerations"], *extra.pop("tolerations", [])]
    moment = cluster.moment()
    return cluster.add(
        "v1",
        "Pod",
        name,
        namespace,
        metadata={
            "creationTimestamp": moment,
            "generateName": f"{name.rsplit('-', 1)[0]}-",
            "labels": parts.pop("labels", {}),
            "annotations": parts.pop("annotations", {}),
            "ownerReferences": [owner] if owner else [],
        },
        spec=spec | extra,
        status=_status(cluster, moment, bool(on)) | parts.pop("status", {}),
    )


def reference(owner: Object) -> Object:
    """Return the owner reference to an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }


def _container(pod_name: str, token: str, resources: Object) -> Object:
    mounts = [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True}]
    return {
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}],
        "image": f"registry.example/{pod_name.rsplit('-', 2)[0]}:1.4.2",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "name": "main",
        "resources": resources,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": mounts,
    }


def _node_status(cluster: Cluster, name: str, allocatable: dict[str, str], capacity: dict[str, str]) -> Object:
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": cluster.moment(),
            "lastTransitionTime": START,
            "reason": f"Kubelet{kind}",
            "message": "kubelet is posting ready status" if kind == "Ready" else f"kubelet has no {kind.lower()}",
        }
        for kind in kinds
    ]
    images = [
        {
            "names": [f"registry.example/{image}@sha256:{_digest(image)}", f"registry.example/{image}:1"],
            "sizeBytes": size,
        }
        for image, size in (("pause", 298_689), ("kube-proxy", 29_851_421), ("node-agent", 114_802_331))
    ]
    return {
        "addresses": [{"address": "10.0.0.1", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
        "allocatable": allocatable,
        "capacity": capacity,
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": images,
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": cluster.uid(),
            "containerRuntimeVersion": "containerd://2.1.4",
            "kernelVersion": "6.12.40-63.114.amzn2023.x86_64",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.34.4",
            "machineID": cluster.uid().replace("-", ""),
            "operatingSystem": "linux",
            "osImage": "Linux",
            "systemUUID": cluster.uid(),
        },
    }


def _status(cluster: Cluster, moment: str, is_running: bool) -> Object:
    if not is_running:
        return {"phase": "Pending", "qosClass": "Burstable"}
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    digest = _digest(cluster.number(9))
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": moment, "status": "True", "type": kind} for kind in kinds
        ],
        "containerStatuses": [
            {
                "containerID": f"containerd://{digest}",
                "image": "registry.example/app:1.4.2",
                "imageID": f"registry.example/app@sha256:{digest}",
                "lastState": {},
                "name": "main",
                "ready": True,
                "restartCount": cluster.random.choice((0, 0, 0, 1, 4)),
                "started": True,
                "state": {"running": {"startedAt": moment}},
            }
        ],
        "hostIP": "10.0.0.1",
        "phase": "Running",
        "podIP": f"10.0.{cluster.random.randrange(256)}.{cluster.random.randrange(256)}",
        "qosClass": "Burstable",
        "startTime": moment,
    }


def _token_volume(name: str) -> Object:
    items = [{"key": "ca.crt", "path": "ca.crt"}]
    namespace = [{"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}]
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": items, "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": namespace}},
    ]
    return {"name": name, "projected": {"defaultMode": 420, "sources": sources}}


def _managed(manager: str) -> Object:
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {"f:containers": {}},
        "f:status": {"f:phase": {}},
    }
    return {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
        "time": START,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
