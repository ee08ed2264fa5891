"""What stock kube-scheduler 1.36 would do: its seven score plugins with their default weights, ties at random.

score = Σ weight · normalised score, all in integers; every plugin is compared with upstream's own code, case by case
(`longshore bench oracle`).
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy
from longshore.policies.plugins import (
    balanced_allocation,
    image_locality,
    inter_pod_affinity,
    node_affinity,
    node_resources_fit,
    pod_topology_spread,
    taint_toleration,
)

PLUGINS = {
    "TaintToleration": (3, taint_toleration.PLUGIN),
    "NodeAffinity": (2, node_affinity.PLUGIN),
    "NodeResourcesFit": (1, node_resources_fit.PLUGIN),
    "PodTopologySpread": (2, pod_topology_spread.PLUGIN),
    "InterPodAffinity": (2, inter_pod_affinity.PLUGIN),
    "NodeResourcesBalancedAllocation": (1, balanced_allocation.PLUGIN),
    "ImageLocality": (1, image_locality.PLUGIN),
}
"""Upstream's name, weight and plugin."""


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Add the weighted scores of all plugins."""
    xp = namespace(feasible)
    total = xp.zeros(feasible.shape, xp.int64)
    for weight, plugin in PLUGINS.values():
        raw = plugin.raw(arrays, pod_class, feasible)
        total = total + weight * plugin.normalize(arrays, pod_class, feasible, raw)
    return total


POLICY = Policy(score, has_random_ties=True)
