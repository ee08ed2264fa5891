"""Energy and latency (thesis, EL-RL): few nodes on, many pods on each, and latency within the pod's limits.

    reward = r1 + r2 + r3                     after the placement
    r1 = (N - on) / N                         on = nodes that a pod keeps on
    r2 = (pods / on) / 50                  pods = those that keep nodes on
    r3 = 0 above the hard limit, 1 up to the soft one, 0.5 between; 0 without both limits or without a reading

The latency is that between the chosen node and the users. N is the number of nodes; `strict` (thesis, section 4.4)
counts the control plane too (N = nodes + 1, for a cluster imported without it) and every pod, a DaemonSet's too, and
ends the episode when r3 is 0.
"""

from dataclasses import dataclass

from longshore.core.arrays.cluster_arrays import is_on
from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import has_pods, num_nodes

MAX_PODS_PER_NODE = 50
"""The thesis' scale for r2: all pods of its workload on the only node that is on."""


@dataclass(frozen=True)
class EnergyLatency:
    """Reward for packing within latency limits."""

    strict: bool = False
    """The thesis' rule: N counts the control plane, every pod counts, and an r3 of 0 ends the episode."""

    def reward(self, step: Transition) -> Array:
        """Return r1 + r2 + r3: 0 to 2, and more where nodes hold more than 50 pods."""
        state = step.after.state
        xp = namespace(state.pod_count)
        on, counted = (has_pods(step.after), state.pod_count) if self.strict else (is_on(step.after), state.keeping)
        total = num_nodes(step.after) + int(self.strict)
        pods = xp.where(on, counted, 0).sum()
        unused_share = (total - on.sum()) / total
        pods_per_node = pods / xp.maximum(on.sum(), 1) / MAX_PODS_PER_NODE
        return unused_share + pods_per_node + _latency_reward(step)

    def ends_episode(self, step: Transition) -> Array:
        """End where the latency earns nothing if strict."""
        return _latency_reward(step) == 0.0 if self.strict else never_ends(step)


def _latency_reward(step: Transition) -> Array:
    readings, classes = step.after.readings, step.after.classes
    xp = namespace(readings.latency_ms)
    latency = readings.latency_ms[step.node]
    earned = xp.where(latency <= classes.latency_soft_ms[step.pod_class], 1.0, 0.5)
    # The hard limit first, as in the thesis: it decides where someone sets it below the soft one.
    is_kept = latency <= classes.latency_hard_ms[step.pod_class]
    counts = readings.latency_known[step.node] & classes.has_latency_limits[step.pod_class]
    return xp.where(counts & is_kept, earned, 0.0)
