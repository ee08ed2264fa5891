"""Says whether what a run did was allowed, without believing the run: the trace's own numbers are counted up again.

Plain NumPy over the pod list and the node list; nothing of the simulator is used. A run that breaks a rule is a fault
of longshore, and ends the command.
"""

from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import LongshoreError
from longshore_studies.openb.tables.openb import GPU_MILLI, Nodes, Pods


class Placements(NamedTuple):
    """What happened, event by event."""

    pod: Array  # [events] rows of the pod list
    is_arrival: Array  # [events] bool; else the pod leaves
    node: Array  # [events] rows of the node list; -1 = no node was found, or the pod that leaves had none
    on_device: Array  # [events, devices] bool; the node's GPUs that the pod holds, or leaves


def check_run(nodes: Nodes, pods: Pods, done: Placements) -> int:
    """Return how many pods found no node, after making sure that none of them had room anywhere.

    Raises:
        LongshoreError: a pod went where it does not fit, or found no node although one had room.
    """
    allowed, model_set = _allowed(nodes, pods)
    _check_places(nodes, pods, done, allowed, model_set)
    _check_capacity(nodes, pods, done)
    refused = np.flatnonzero(done.is_arrival & (done.node < 0))
    _check_refused(nodes, pods, done, refused, allowed[model_set])
    return len(refused)


def _allowed(nodes: Nodes, pods: Pods) -> tuple[Array, Array]:
    """Return which nodes the distinct sets of models allow [sets, nodes], and the set of every pod [pods]."""
    sets = {models: number for number, models in enumerate(dict.fromkeys(pods.models))}
    allowed = np.array([[not one or model in one for model in nodes.model] for one in sets])
    return allowed, np.array([sets[models] for models in pods.models])


def _check_places(nodes: Nodes, pods: Pods, done: Placements, allowed: Array, model_set: Array) -> None:
    placed = done.node >= 0
    pod, node = done.pod[placed], done.node[placed]
    on_device = done.on_device[placed]
    if not allowed[model_set[pod], node].all():
        raise _fault("a pod went to a node whose GPU model it may not use")
    if (on_device.sum(axis=1) != pods.gpu_count[pod]).any():
        raise _fault("a pod got another number of GPUs than it asked for")
    if (on_device & ~_devices(nodes, on_device.shape[1])[node]).any():
        raise _fault("a pod got a GPU that its node does not have")
    if not done.is_arrival.all():
        arrived_at = np.full(len(pods.names), -1)
        arrived_at[done.pod[done.is_arrival]] = done.node[done.is_arrival]
        leaving = ~done.is_arrival
        if (done.node[leaving] != arrived_at[done.pod[leaving]]).any():
            raise _fault("a pod left another node than it had gone to")


def _check_capacity(nodes: Nodes, pods: Pods, done: Placements) -> None:
    """Count up every node's pods in the order of time; at no moment may they need more than there is."""
    placed = np.flatnonzero(done.node >= 0)
    by_node = placed[np.argsort(done.node[placed], kind="stable")]
    node = done.node[by_node]
    is_first = np.diff(node, prepend=-1) != 0
    need, have = _needs(pods, done, by_node), _capacity(nodes, done.on_device.shape[1])
    total = need.cumsum(axis=0)
    before = (total - need)[is_first]
    used = total - before[is_first.cumsum() - 1]
    if (used > have[node]).any():
        raise _fault("pods were put on a node beyond its capacity")
    if (used < 0).any():
        raise _fault("a pod left that was not there")


def _check_refused(nodes: Nodes, pods: Pods, done: Placements, refused: Array, allowed: Array) -> None:
    """Make sure that no node had room for those that found none.

    Where no pod leaves, what has no room once never has again: the first of equal pods is enough.
    """
    if done.is_arrival.all():
        pod = done.pod[refused]
        kind = np.stack([pods.cpu_milli, pods.memory_mib, pods.gpu_count, pods.gpu_milli], axis=1)[pod]
        kind = np.concatenate([kind, allowed[pod]], axis=1)
        refused = refused[_first_of_equal(kind)]
    num_devices = done.on_device.shape[1]
    left = _capacity(nodes, num_devices)
    is_device = _devices(nodes, num_devices)
    seen = 0
    for event in refused.tolist():
        between = seen + np.flatnonzero(done.node[seen:event] >= 0)
        np.subtract.at(left, done.node[between], _needs(pods, done, between))
        seen, pod = event, done.pod[event]
        has_gpus = ((left[:, 2:] >= pods.gpu_milli[pod]) & is_device).sum(axis=1) >= pods.gpu_count[pod]
        has_rest = (left[:, 0] >= pods.cpu_milli[pod]) & (left[:, 1] >= pods.memory_mib[pod])
        room = np.flatnonzero(has_gpus & has_rest & allowed[pod])
        if len(room):
            raise _fault(f"pod `{pods.names[pod]}` found no node, but `{nodes.names[room[0]]}` had room")


def _first_of_equal(rows: Array) -> Array:
    """Return the index of the first of each group of equal rows."""
    first: dict[bytes, int] = {}
    for index, row in enumerate(np.ascontiguousarray(rows)):
        first.setdefault(row.tobytes(), index)
    return np.array(list(first.values()), np.int64)


def _needs(pods: Pods, done: Placements, events: Array) -> Array:
    """Return what events take [events, CPU, memory and devices]; negative where a pod leaves."""
    pod = done.pod[events]
    of_devices = done.on_device[events] * pods.gpu_milli[pod][:, None]
    needs = np.concatenate([pods.cpu_milli[pod][:, None], pods.memory_mib[pod][:, None], of_devices], axis=1)
    return np.where(done.is_arrival[events], 1, -1)[:, None] * needs


def _capacity(nodes: Nodes, num_devices: int) -> Array:
    of_devices = _devices(nodes, num_devices) * GPU_MILLI
    return np.concatenate([nodes.cpu_milli[:, None], nodes.memory_mib[:, None], of_devices], axis=1)


def _devices(nodes: Nodes, num_devices: int) -> Array:
    return np.arange(num_devices) < nodes.gpu_count[:, None]


def _fault(what: str) -> LongshoreError:
    return LongshoreError(f"a fault of longshore: {what}", "please report it, with the command that you gave")
