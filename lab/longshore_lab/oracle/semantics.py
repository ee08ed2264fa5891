"""How long one decision takes: our filters and kube-default beside upstream's, on the same cluster and pods."""

import statistics
import time
from typing import Any, NamedTuple

import msgspec
import numpy as np

from longshore.core.words.errors import LongshoreError
from longshore.filters import feasible
from longshore.policies.base import choose_node
from longshore.policies.heuristics.kube_default import POLICY
from longshore_lab.oracle.compare import answer, difference, encode_case
from longshore_lab.oracle.program import Oracle

DEFAULT_SIZES = (10, 100, 1000, 5000)
_UPSTREAM_REPEATS = 5
_PODS_PER_NODE = 4
_ZONES = 3
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Cell(NamedTuple):
    """One row of the table."""

    nodes: int
    pod: str
    ours_ms: float
    ours_p99_ms: float
    upstream_ms: float
    ratio: float
    """Ours divided by upstream's: below 1 is faster."""


def measure(num_nodes: int, repeats: int) -> list[Cell]:
    """Time every kind of pod on a cluster of a size; the answers must agree, else the times mean nothing."""
    items = cluster(num_nodes)
    cells = []
    with Oracle(is_timed=True) as oracle:
        for name, pod in pods().items():
            case = msgspec.json.encode({"id": 0, "pod": pod, "items": items})
            answers = list(oracle.ask([case] * _UPSTREAM_REPEATS))
            what = difference(answer(case), answers[0])
            if what is not None:
                raise LongshoreError(f"{num_nodes} nodes, pod `{name}`: {what}")
            ours = _time(case, repeats)
            upstream = statistics.median(a.seconds or 0.0 for a in answers) * 1e3
            median, worst = statistics.median(ours), float(np.percentile(ours, 99))
            cells.append(Cell(num_nodes, name, median, worst, upstream, median / upstream))
    return cells


def _time(case: bytes, repeats: int) -> list[float]:
    """Milliseconds of deciding, from compiled arrays to the chosen node."""
    encoded, index = encode_case(case)
    arrays, pod_class = encoded.arrays, np.asarray(index)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        mask = feasible(arrays, pod_class)
        choose_node(POLICY, arrays, pod_class, mask, wants_devices=False)
        times.append((time.perf_counter() - started) * 1e3)
    return times


def cluster(num_nodes: int) -> list[dict[str, Any]]:
    """Make nodes in three zones, a tenth of them tainted, with running pods that spread, attract and repel."""
    items: list[dict[str, Any]] = [_namespace(), _service()]
    for i in range(num_nodes):
        items.append(_node(i))
        items += [_running(i, j) for j in range(_PODS_PER_NODE)]
    return items


def pods() -> dict[str, dict[str, Any]]:
    """Make the pods to place: one per kind of constraint, and one with all of them."""
    selector = {"matchLabels": {"app": "web"}}
    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    spread: dict[str, Any] = {
        "topologySpreadConstraints": [
            {"maxSkew": 5, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector},
            {"maxSkew": 2, "topologyKey": host, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector},
        ]
    }
    term = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": zone}
    between: dict[str, Any] = {
        "affinity": {
            "podAffinity": {
                _REQUIRED: [term],
                _PREFERRED: [{"weight": 50, "podAffinityTerm": {**term, "topologyKey": host}}],
            },
            "podAntiAffinity": {
                _REQUIRED: [{"labelSelector": {"matchLabels": {"app": "lonely"}}, "topologyKey": host}]
            },
        }
    }
    node_affinity: dict[str, Any] = {
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                _PREFERRED: [{"weight": 7, "preference": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}}]
            }
        },
    }
    everything = {**spread, "affinity": {**between["affinity"], **node_affinity["affinity"]}}
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "node-affinity": node_affinity,
        "spread": spread,
        "inter-pod": between,
        "everything": everything,
    }
    return {name: _pod("to-place", "web", extra) for name, extra in kinds.items()}


def _pod(name: str, app: str, spec: dict[str, Any]) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "200Mi"}
    container = {"name": "main", "image": "app:1", "resources": {"requests": requests}}
    meta = {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def _running(node: int, number: int) -> dict[str, Any]:
    app = ("web", "cache", "batch", "batch")[number % _PODS_PER_NODE]
    spec: dict[str, Any] = {"nodeName": f"node-{node}"}
    if app == "cache" and node % 10 == 0:
        term = {"labelSelector": {"matchLabels": {"app": "loud"}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}
    return _pod(f"pod-{node}-{number}", app, spec)


def _node(i: int) -> dict[str, Any]:
    zone = f"zone-{i % _ZONES}"
    labels = {"kubernetes.io/hostname": f"node-{i}", "topology.kubernetes.io/zone": zone, "rack": f"r{i % 40}"}
    labels["disk"] = "ssd" if i % 2 else "hdd"
    size = {"cpu": str(8 + 8 * (i % 4)), "memory": f"{32 + 32 * (i % 3)}Gi", "pods": "110"}
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if i % 10 == 9 else []
    images = [{"names": ["app:1"], "sizeBytes": 300_000_000}] if i % 5 else []
    status = {"allocatable": size, "capacity": size, "images": images}
    meta = {"name": f"node-{i}", "uid": f"node-{i}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": taints}, "status": status}


def _namespace() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}}


def _service() -> dict[str, Any]:
    meta = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": "web"}}}
