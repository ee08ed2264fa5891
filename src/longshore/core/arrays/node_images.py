"""Which container images the nodes have, and what that is worth to a pod: upstream's ImageLocality.

weight = 100 · (bytes - 23 MB) / (1 GB · containers - 23 MB), rounded down, within 0..100; bytes = Σ over the pod's
images of size · share of the nodes that have the image, each rounded down. Called by `arrays.static`.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from longshore.core.words.node import Image, Node

# Images below 23 MB in all do not count, 1 GB per container counts full.
_MIN_BYTES = 23 * 1024 * 1024
_MAX_BYTES_PER_CONTAINER = 1000 * 1024 * 1024


class NodeImages:
    """Images by name, each with the nodes that have it."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._num_nodes = len(nodes)
        self._sizes: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for position, node in enumerate(nodes):
            self._add(position, node.images)

    @property
    def is_empty(self) -> bool:
        """No node has an image."""
        return not self._sizes

    def put(self, position: int, before: tuple[Image, ...], after: tuple[Image, ...]) -> frozenset[str]:
        """Give a node other images; return the names that are worth something else now, on whatever node."""
        names = (
            frozenset(name for image in (*before, *after) for name in image.names) if before != after else frozenset()
        )
        for image in before if names else ():
            for name in image.names:
                self._sizes[name].pop(position, None)
        self._add(position, after if names else ())
        for name in names:
            if not self._sizes[name]:
                del self._sizes[name]
        return names

    def weights(self, names: Sequence[str], num_containers: int) -> list[int]:
        """Return what a pod's images are worth on every node."""
        total = np.zeros(self._num_nodes, np.int64)
        for name in names:
            sizes = self._sizes.get(name)
            if sizes:
                where = np.fromiter(sizes.keys(), np.int64, len(sizes))
                size = np.fromiter(sizes.values(), np.float64, len(sizes))
                total[where] += (size * (len(sizes) / self._num_nodes)).astype(np.int64)
        most = _MAX_BYTES_PER_CONTAINER * num_containers
        clipped = np.maximum(np.minimum(total, most), _MIN_BYTES)
        found: list[int] = (100 * (clipped - _MIN_BYTES) // (most - _MIN_BYTES)).tolist()
        return found

    def _add(self, position: int, images: Sequence[Image]) -> None:
        for image in images:
            for name in image.names:
                self._sizes[name][position] = image.size_bytes
