"""One placement on arrays: what changes when a pod goes to a node, or leaves it."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, add_at, namespace


def place(arrays: ClusterArrays, pod_class: Array, node: Array, devices: Array) -> ClusterArrays:
    """Put a pod of a class on a node; `devices` [devices] is the milli that it takes from each GPU."""
    xp = namespace(arrays.state.requested)
    placed = shift(arrays, pod_class, node, devices, 1)
    state = placed.state._replace(
        last_node=xp.asarray(node, dtype=xp.int32), step=(placed.state.step + 1).astype(xp.uint32)
    )
    return placed._replace(state=state)


def remove(arrays: ClusterArrays, pod_class: Array, node: Array, devices: Array) -> ClusterArrays:
    """Take a pod away again: the exact inverse of `place`, but for the step count and the last node."""
    return shift(arrays, pod_class, node, devices, -1)


def shift(arrays: ClusterArrays, pod_class: Array, node: Array, devices: Array, sign: Array | int) -> ClusterArrays:
    """Add a pod's share to a node (sign 1), take it away (-1) or do neither (0)."""
    state, classes = arrays.state, arrays.classes
    match = arrays.tables.match[:, pod_class]
    return arrays._replace(
        state=state._replace(
            requested=add_at(state.requested, node, sign * classes.request[pod_class]),
            nonzero_requested=add_at(state.nonzero_requested, node, sign * classes.nonzero_request[pod_class]),
            pod_count=add_at(state.pod_count, node, sign),
            keeping=add_at(state.keeping, node, sign * classes.keeps_on[pod_class]),
            counts=add_at(state.counts, (slice(None), node), sign * match),
            gpu_used=add_at(state.gpu_used, node, sign * devices),
        )
    )
