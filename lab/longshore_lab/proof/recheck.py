"""Whether pods are where they may be: each is taken away and asked about again, from a fresh list. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import msgspec
import numpy as np

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.pod import Pod
from longshore.core.words.snapshot import Snapshot
from longshore.filters import feasible, judge, static_parts
from longshore.kube.dump import read_objects
from longshore_lab.proof.live_case import Json


def misplaced(items: Iterable[Json], uids: Collection[str]) -> list[str]:
    """Say what is wrong with the places of some pods, among all objects of a cluster; empty = nothing.

    A pod is right where our filters, which are upstream's, would let it go while everything else stays as it is. So
    what all pods of a node need together is part of it.
    """
    snapshot = read_objects([msgspec.Raw(msgspec.json.encode(item)) for item in items]).snapshot
    names = {node.name for node in snapshot.nodes}
    cluster = _live(snapshot)
    found = []
    for pod in snapshot.pods:
        if pod.uid not in uids:
            continue
        if pod.bound_to not in names:
            found.append(f"{pod.key} is on `{pod.bound_to}`, which does not exist")
        elif reason := _why_not_there(cluster, pod):
            found.append(f"{pod.key} cannot be on {pod.bound_to}: {reason}")
    return found


def _live(snapshot: Snapshot) -> LiveCluster:
    cluster = LiveCluster(static_parts())
    cluster.put_context(
        namespaces=snapshot.namespaces,
        services=snapshot.services,
        controllers=snapshot.controllers,
        volumes=snapshot.volumes,
        claims=snapshot.claims,
    )
    for node in snapshot.nodes:
        cluster.put_node(node)
    for pod in snapshot.pods:
        if pod.bound_to:
            cluster.put_pod(pod)
    return cluster


def _why_not_there(cluster: LiveCluster, pod: Pod) -> str:
    waiting = replace(pod, bound_to="")
    cluster.drop_pod(pod.key)
    encoded = cluster.encoded([waiting])
    pod_class = encoded.class_of(waiting)
    is_right = bool(feasible(encoded.arrays, np.asarray(pod_class))[encoded.node_index[pod.bound_to]])
    reason = "" if is_right else str(judge(encoded, pod_class)[1][pod.bound_to])
    cluster.put_pod(pod)
    return reason
