"""What a filter is: arrays in, a mask over all nodes out, and the reason in upstream's words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Rejection

Feasible = Callable[[ClusterArrays, Array], Array]
"""(arrays, pod class) -> [nodes] bool: where the class may go as far as this filter is concerned."""

Explain = Callable[[Encoded, int, Sequence[int]], list[Rejection]]
"""(encoded, pod class, nodes) -> why the filter rejects each of these nodes; only asked about nodes that it rejects,
and about one at least."""


@dataclass(frozen=True)
class Filter:
    """One constraint."""

    feasible: Feasible
    explain: Explain


def fixed(name: str, reason: str, *, is_resolvable: bool = False) -> Explain:
    """Explain with one sentence, whatever the node."""
    rejection = Rejection(name, (reason,), is_resolvable)
    return lambda _encoded, _pod_class, nodes: [rejection] * len(nodes)
