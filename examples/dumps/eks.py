"""A cluster as EKS has them: node groups by instance type, some of them spot, three zones, EBS volumes, GPUs."""

from apps import ZONE, daemon_set, deployment, job, stateful_set
from objects import Cluster, Object, node

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
GROUPS = (
    # name, instance type, (CPUs, GiB, pods), spot, share of the nodes
    ("general", "m6i.xlarge", (4, 16, 58), False, 0.4),
    ("large", "m6i.4xlarge", (16, 64, 110), False, 0.2),
    ("batch", "c6i.2xlarge", (8, 16, 58), True, 0.3),
    ("gpu", "g5.xlarge", (4, 16, 58), False, 0.1),
)
EBS = "ebs.csi.aws.com"
SPOT_TAINT = {"effect": "NoSchedule", "key": "spot", "value": "true"}
GPU_TAINT = {"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "true"}
GPU_LABELS = {
    "nvidia.com/gpu.product": "NVIDIA-A10G",
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.memory": "23028",
    "nvidia.com/gpu.present": "true",
}


def make(num_nodes: int, seed: int) -> Cluster:
    """Make the cluster."""
    cluster = Cluster(seed)
    for name in ("default", "kube-system", "shop", "data", "ml", "batch", "monitoring"):
        cluster.add("v1", "Namespace", name, metadata={"labels": {"kubernetes.io/metadata.name": name}})
    groups = {group[0]: _group(cluster, group, num_nodes) for group in GROUPS}
    every = [each for nodes in groups.values() for each in nodes]
    system = {"spec": {"priorityClassName": "system-node-critical", "priority": 2_000_001_000}}
    for name, requests in (("aws-node", (50, 0)), ("kube-proxy", (100, 0)), ("ebs-csi-node", (30, 120))):
        daemon_set(cluster, "kube-system", name, every, requests=requests)
    daemon_set(cluster, "monitoring", "node-exporter", every, requests=(102, 180))
    plain, spot = groups["general"] + groups["large"], groups["batch"]
    deployment(cluster, "kube-system", "coredns", 2, plain, requests=(100, 70), **system)
    _shop(cluster, plain, max(num_nodes // 12, 1))
    _data(cluster, plain, max(num_nodes // 12, 1))
    _batch(cluster, spot, max(num_nodes // 6, 2))
    taint = {"tolerations": [GPU_TAINT | {"operator": "Equal"}]}
    for number, each in enumerate(groups["gpu"][: max(len(groups["gpu"]) - 1, 1)]):
        gpu = {"spec": taint, "requests": (2000, 8192), "gpus": 1}
        deployment(cluster, "ml", f"inference-{number}", 1, [each], **gpu)
    return cluster


def _group(cluster: Cluster, group: tuple[str, str, tuple[int, int, int], bool, float], num_nodes: int) -> list[Object]:
    name, instance, size, is_spot, share = group
    found = []
    for number in range(max(round(num_nodes * share), 1)):
        zone = ZONES[number % len(ZONES)]
        host = f"ip-10-0-{cluster.random.randrange(256)}-{cluster.random.randrange(256)}.ec2.internal"
        labels = {
            "eks.amazonaws.com/capacityType": "SPOT" if is_spot else "ON_DEMAND",
            "eks.amazonaws.com/nodegroup": name,
            "node.kubernetes.io/instance-type": instance,
            "beta.kubernetes.io/instance-type": instance,
            "topology.kubernetes.io/region": zone[:-1],
            "topology.ebs.csi.aws.com/zone": zone,
            "failure-domain.beta.kubernetes.io/zone": zone,
            "k8s.io/cloud-provider-aws": "8a9f3c",
            ZONE: zone,
        }
        is_gpu = name == "gpu"
        taints = [SPOT_TAINT] * is_spot + [GPU_TAINT] * is_gpu
        devices = {"nvidia.com/gpu": "1"} if is_gpu else {}
        labels |= GPU_LABELS if is_gpu else {}
        given = {"spec": {"taints": taints} if taints else {}, "devices": devices}
        found.append(node(cluster, host, labels, size, **given))
        driver = {"name": EBS, "nodeID": f"i-0{cluster.number(9)}", "allocatable": {"count": 25}}
        driver["topologyKeys"] = ["topology.ebs.csi.aws.com/zone", ZONE]
        cluster.add("storage.k8s.io/v1", "CSINode", host, spec={"drivers": [driver]})
    return found


def _shop(cluster: Cluster, nodes: list[Object], scale: int) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "web"}},
    }
    deployment(
        cluster,
        "shop",
        "web",
        5 * scale,
        nodes,
        requests=(250, 512),
        hpa=True,
        spec={"topologySpreadConstraints": [spread]},
    )
    deployment(cluster, "shop", "api", 14 * scale, nodes, requests=(500, 1024), hpa=True)
    cache = [{"name": "tmp", "emptyDir": {}}]
    deployment(cluster, "shop", "cart", 10 * scale, nodes, requests=(300, 768), volumes=cache)
    unmoved = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    deployment(cluster, "shop", "payment", 2, nodes, requests=(250, 512), annotations=unmoved)
    # Another kind that owns ReplicaSets, as progressive delivery has it.
    rollout = {"kind": "Rollout", "api_version": "argoproj.io/v1alpha1"}
    deployment(cluster, "shop", "search", 8 * scale, nodes, requests=(400, 2048), **rollout)


def _data(cluster: Cluster, nodes: list[Object], scale: int) -> None:
    stateful_set(cluster, "data", "postgres", 2 * scale, nodes, requests=(500, 3072), driver=EBS)
    stateful_set(cluster, "data", "kafka", 3, nodes, requests=(500, 2048), driver=EBS)
    deployment(cluster, "monitoring", "grafana", 1, nodes, requests=(100, 256))
    stateful_set(cluster, "monitoring", "prometheus", 1, nodes, requests=(500, 4096), driver=EBS)


def _batch(cluster: Cluster, nodes: list[Object], count: int) -> None:
    tolerated = {
        "tolerations": [SPOT_TAINT | {"operator": "Equal"}],
        "nodeSelector": {"eks.amazonaws.com/nodegroup": "batch"},
    }
    deployment(cluster, "batch", "worker", 5 * count, nodes, requests=(800, 1024), spec=tolerated)
    for number in range(count):
        job(cluster, "batch", f"report-{28_900_000 + number}", nodes, spec=tolerated | {"restartPolicy": "Never"})
        ended = {"phase": "Succeeded", "reason": "Completed"}
        job(cluster, "batch", f"backup-{28_900_000 + number}", nodes, status=ended)
