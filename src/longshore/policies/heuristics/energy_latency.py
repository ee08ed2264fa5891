"""Few machines on, within the pod's latency limits: the greedy rule that EL-RL should learn.

By these, in this order: latency within the soft limit, else within the hard one, else any; most pods on the node (so
that a node that is off comes last); lowest latency; lowest name. A limit that the pod does not set holds everywhere,
and the soft limit never allows more than the hard one. A node without a reading is within no limit that is set.

score = tier·2^51 + min(pods, 2^20 - 1)·2^31 + (2^31 - 1 - min(latency in µs, 2^31 - 1)), tier = 2, 1 or 0: an integer
below 2^53, so that float64 holds it exactly.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import WORST_READING, known_or_worst

_LATENCY_BITS, _POD_BITS = 31, 20
_MOST_MICROSECONDS = (1 << _LATENCY_BITS) - 1
_MOST_PODS = (1 << _POD_BITS) - 1


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] below 2^53."""
    classes, readings = arrays.classes, arrays.readings
    xp = namespace(readings.latency_ms)
    latency_ms = known_or_worst(readings.latency_ms, readings.latency_known)
    hard_ms = classes.latency_hard_ms[pod_class]
    soft_ms = xp.minimum(classes.latency_soft_ms[pod_class], hard_ms)
    tier = (latency_ms <= soft_ms).astype(xp.int64) + (latency_ms <= hard_ms)
    pods = xp.clip(arrays.state.pod_count, 0, _MOST_PODS)
    microseconds = xp.rint(xp.clip(latency_ms, 0.0, WORST_READING) * 1000.0)
    speed = _MOST_MICROSECONDS - xp.minimum(microseconds, _MOST_MICROSECONDS).astype(xp.int64)
    return (tier << (_LATENCY_BITS + _POD_BITS)) + (pods << _LATENCY_BITS) + speed


POLICY = Policy(score=score, is_local=True)
