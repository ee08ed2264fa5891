"""Keep pods that hold GPUs in the same way together (FGD's GpuClustering).

The way is a share of one GPU, or the number of whole ones. score = trunc(25·(8000 - GPU left) / 8000) in thousandths of
a GPU, all GPUs of a node together, + 75 if the node's GPU pods are all of this way, 50 if only some are, 25 if it has
none, 0 if they are all of other ways. A pod that wants no GPU scores 0 everywhere.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.heuristics.amounts import LARGEST_GPU_MILLI, divide_towards_zero, gpu_milli_left
from longshore.policies.heuristics.by_node import by_node


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]: whole numbers in 0..100."""
    classes, counts = arrays.classes, arrays.state.counts
    xp = namespace(counts)
    query = classes.gpu_kind_query[pod_class]
    num_alike = counts[query] if xp.ndim(query) == 0 else counts[query, 0]
    num_any = counts[classes.gpu_any_query]
    company = xp.where(
        num_alike > 0,
        xp.where(num_alike == num_any, 75, 50),
        xp.where(num_any == 0, 25, 0),
    )
    fullness = divide_towards_zero(25 * (LARGEST_GPU_MILLI - gpu_milli_left(arrays)), LARGEST_GPU_MILLI)
    return xp.where(take.milli > 0, fullness + company, 0).astype(float)[None]


POLICY = by_node(facts, reads_counts=True)
