"""Many random clusters in one shape, so that JAX compiles a function once for all of them.

Every axis is padded with zeros to the longest of the series. That changes nothing: row 0 of every table is neutral and
a query of 0 is no term. Tests that compare with the arrays as encoded prove it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore_lab.oracle.cases import make_case
from longshore_lab.oracle.compare import encode_case
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode

PADDED_NODES = 13
"""One more than a case has at most: there always is padding."""
SHARES = tuple(range(25, 1000, 50))
"""Of a GPU, in milli: what `share_clusters` ask for."""


class Cluster(NamedTuple):
    """A cluster as encoded, the same in the series' common shape, and the class of a pod to place."""

    encoded: Encoded
    uniform: ClusterArrays
    pod_class: int

    @property
    def num_nodes(self) -> int:
        """Nodes that are real."""
        return len(self.encoded.node_names)


@lru_cache(maxsize=4)
def oracle_clusters(count: int, seed: int = 5) -> tuple[Cluster, ...]:
    """Take the cases that are compared with upstream: every constraint and its corners."""
    found = [encode_case(msgspec.json.encode(make_case(seed, index))) for index in range(count)]
    return _uniform((encode(encoded.snapshot, padded_nodes=PADDED_NODES), pod_class) for encoded, pod_class in found)


@lru_cache(maxsize=4)
def device_clusters(count: int) -> tuple[Cluster, ...]:
    """Make clusters with GPUs, readings and latency limits, which upstream has no word for."""
    encodings = (encode(random_snapshot(seed), padded_nodes=PADDED_NODES) for seed in range(count))
    return _uniform((encoded, len(encoded.specs) - 1) for encoded in encodings)


@lru_cache(maxsize=1)
def share_clusters() -> tuple[Cluster, ...]:
    """Make clusters for pods that want shares of a GPU, of many sizes, on nodes of every size, free or partly used."""
    nodes = [make_node(f"node-{size}").gpu(size, "T4") for size in (1, 2, 4, 8)]
    found = []
    for milli in SHARES:
        held = make_pod("held").gpu(1, milli).on("node-2", (0,))
        for pod, bound in ((make_pod("p").gpu(1, milli), ()), (make_pod("p").gpu(1, 10), (held,))):
            encoded = encode(make_snapshot(*nodes, pod, *bound), padded_nodes=5)
            waiting = next(one for one in encoded.snapshot.pods if one.name == "p")
            found.append((encoded, encoded.class_of(waiting)))
    return _uniform(found)


def _uniform(found: Iterable[tuple[Encoded, int]]) -> tuple[Cluster, ...]:
    pairs = tuple(found)
    shapes: Any = jax.tree.map(
        lambda *arrays: tuple(max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True)),
        *(encoded.arrays for encoded, _ in pairs),
    )
    return tuple(
        Cluster(encoded, jax.tree.map(_padded, encoded.arrays, shapes), pod_class) for encoded, pod_class in pairs
    )


def _padded(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not shape:
        return array
    return np.pad(array, [(0, new - old) for old, new in zip(array.shape, shape, strict=True)])
