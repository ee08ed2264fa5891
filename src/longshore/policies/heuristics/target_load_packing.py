"""Pack nodes up to a target CPU load, then spread: the formula of scheduler-plugins' TargetLoadPacking.

U = 100·(load + request / CPU): the load is the measured ratio where it is known, else requested / CPU. With X = 40:
U ≤ X: score = (100 - X)·U / X + X; X < U ≤ 100: score = X·(100 - U) / (100 - X); above: 0.

The plugin rounds the score to an integer, predicts a pod's use as 1.5 times its request (or as its limit), and gives 0
to nodes without metrics; here the score stays a fraction, a request counts once and requests stand in for metrics.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import CPU_COLUMN
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import cpu_millis_wanted

TARGET_PERCENT = 40.0
"""The plugin's own default; its advice is 10 below the load that one wants."""


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return float64 [nodes] in 0..100."""
    xp = namespace(arrays.state.requested)
    # A node without CPU counts as full: 1 milli of capacity puts any request far above 100 %.
    capacity = xp.maximum(arrays.nodes.allocatable[:, CPU_COLUMN], 1)
    measured = arrays.readings.cpu_ratio
    load = xp.where(arrays.readings.cpu_known, measured, arrays.state.requested[:, CPU_COLUMN] / capacity)
    percent = 100.0 * (load + cpu_millis_wanted(arrays, pod_class) / capacity)
    rising = (100.0 - TARGET_PERCENT) * percent / TARGET_PERCENT + TARGET_PERCENT
    falling = TARGET_PERCENT * (100.0 - percent) / (100.0 - TARGET_PERCENT)
    return xp.where(percent <= TARGET_PERCENT, rising, xp.maximum(falling, 0.0))


POLICY = Policy(score=score, is_local=True)
