"""KWOK nodes: node objects that KWOK keeps healthy, and whose pods it only reports as running."""

import datetime
from typing import Any

KWOK_ANNOTATION = "kwok.x-k8s.io/node=fake"
"""Only nodes with this annotation are KWOK's: `--manage-all-nodes` would also fake the pods of real nodes."""
NODES_PATH = "/api/v1/nodes"
_CONDITIONS = [
    {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"},
    {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
    {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"},
    {"type": "PIDPressure", "status": "False", "reason": "KubeletHasSufficientPID"},
    {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"},
]


def kwok_annotations() -> dict[str, str]:
    """Return the annotations by which KWOK takes a node over."""
    key, _, value = KWOK_ANNOTATION.partition("=")
    return {key: value}


def kwok_status(name: str) -> dict[str, Any]:
    """Return the status of a healthy node, without its resources.

    It is complete, as a kubelet registers itself. KWOK would fill it in as well, with one more write for each node.
    """
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "phase": "Running",
        "conditions": [dict(condition, lastHeartbeatTime=now, lastTransitionTime=now) for condition in _CONDITIONS],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": "kwok", "operatingSystem": "linux", "architecture": "amd64"},
    }
