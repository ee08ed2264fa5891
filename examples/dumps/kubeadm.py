"""A cluster as kubeadm makes them: a control plane of static pods, machines without types, volumes on their disks."""

from apps import daemon_set, deployment, job, stateful_set
from objects import Cluster, Object, node, pod

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def make(num_nodes: int, seed: int) -> Cluster:
    """Make the cluster: one node in ten, three at most, runs the control plane; a single node is a worker."""
    cluster = Cluster(seed)
    for name in ("default", "kube-system", "web", "ci"):
        cluster.add("v1", "Namespace", name, metadata={"labels": {"kubernetes.io/metadata.name": name}})
    num_masters = min(num_nodes // 10, 3) or min(num_nodes - 1, 1)
    masters = [_master(cluster, f"master-{number}") for number in range(num_masters)]
    workers = [
        node(cluster, f"worker-{number}", {"disk": "ssd"} if number % 2 else {}, (8, 32, 110))
        for number in range(num_nodes - num_masters)
    ]
    every = masters + workers
    daemon_set(cluster, "kube-system", "calico-node", every, requests=(250, 0))
    daemon_set(cluster, "kube-system", "kube-proxy", every, requests=(0, 0))
    logs = [{"name": "logs", "hostPath": {"path": "/var/log", "type": ""}}]
    daemon_set(cluster, "kube-system", "fluent-bit", every, requests=(50, 64), volumes=logs)
    deployment(cluster, "kube-system", "coredns", 2, masters or workers, requests=(100, 70))
    scale = max(num_nodes // 8, 1)
    deployment(cluster, "web", "site", 16 * scale, workers, requests=(500, 768))
    deployment(cluster, "web", "worker", 12 * scale, workers, requests=(750, 1024))
    stateful_set(cluster, "web", "mysql", 2, workers, requests=(1000, 4096))
    scratch = [{"name": "work", "emptyDir": {}}]
    for number in range(scale):
        job(cluster, "ci", f"build-{number}", workers, requests=(2000, 4096), volumes=scratch)
    # Nobody would bring it back: it was made by hand.
    pod(cluster, "debug-shell", "default", workers[0]["metadata"]["name"], {}, requests=(0, 0))
    return cluster


def _master(cluster: Cluster, name: str) -> Object:
    taint = {"effect": "NoSchedule", "key": CONTROL_PLANE}
    found = node(cluster, name, {CONTROL_PLANE: ""}, (4, 16, 110), spec={"taints": [taint]})
    owner = {"apiVersion": "v1", "controller": True, "kind": "Node", "name": name, "uid": found["metadata"]["uid"]}
    parts = {
        "etcd": (100, 100),
        "kube-apiserver": (250, 0),
        "kube-controller-manager": (200, 0),
        "kube-scheduler": (100, 0),
    }
    for part, requests in parts.items():
        note = {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": "8d6f2c"}
        critical = {"priorityClassName": "system-node-critical", "priority": 2_000_001_000, "hostNetwork": True}
        given = {"requests": requests, "annotations": note, "spec": critical, "labels": {"tier": "control-plane"}}
        pod(cluster, f"{part}-{name}", "kube-system", name, owner, **given)
    return found
