"""A real cluster on this machine: upstream's control plane as processes, KWOK nodes, and real nodes if asked for.

cluster = up(ClusterOptions(nodes=10))      # a LocalCluster, ready for pods
cluster.kubeconfig                          # an administrator's
cluster.kubeconfig_for("longshore-scheduler")   # exactly the rights of the chart; "longshore-plugin" for the plugin
down("longshore")
"""

from longshore_lab.cluster.lifecycle import down, find, temporary, up
from longshore_lab.cluster.local import LocalCluster
from longshore_lab.cluster.state import ClusterOptions, cluster_names

__all__ = ["ClusterOptions", "LocalCluster", "cluster_names", "down", "find", "is_local", "temporary", "up"]


def is_local(server: str) -> bool:
    """Say whether an API server's address is that of a cluster on this machine, whose nodes KWOK looks after."""
    return any(find(name).server == server for name in cluster_names())
