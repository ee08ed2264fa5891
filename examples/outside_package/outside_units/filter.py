"""Nodes with room for one pod more than upstream wants: the last place stays free."""

from longshore.filters.base import Filter, fixed


def feasible(arrays, pod_class):
    """Allow nodes where two more pods are allowed, and few are."""
    return arrays.state.pod_count + 1 < arrays.nodes.allowed_pods.clip(max=4)


FILTER = Filter(feasible, fixed("outside-filter", "node(s) had one place left", is_resolvable=True))
