"""The resources that scheduling reads: where they are listed and watched, and what travels."""

from typing import Any, NamedTuple

from longshore.kube import wire


class Resource(NamedTuple):
    """One resource of the API."""

    name: str
    """In the plural, as paths and rights name it."""
    kind: str
    api_version: str
    body: type[Any]
    """The narrow type that its objects are decoded to."""
    is_namespaced: bool = True
    field_selector: str = ""
    """Objects that the server need not send."""

    @property
    def path(self) -> str:
        """Where the objects of all namespaces are."""
        root = "/api" if "/" not in self.api_version else "/apis"
        return f"{root}/{self.api_version}/{self.name}"


# As upstream's scheduler: a pod that has ended holds nothing. Pods of other schedulers are seen: they use room.
PODS = Resource("pods", "Pod", "v1", wire.Pod, field_selector="status.phase!=Succeeded,status.phase!=Failed")
NODES = Resource("nodes", "Node", "v1", wire.Node, is_namespaced=False)
NAMESPACES = Resource("namespaces", "Namespace", "v1", wire.Namespace, is_namespaced=False)
SERVICES = Resource("services", "Service", "v1", wire.Service)
REPLICA_SETS = Resource("replicasets", "ReplicaSet", "apps/v1", wire.Workload)
STATEFUL_SETS = Resource("statefulsets", "StatefulSet", "apps/v1", wire.Workload)
REPLICATION_CONTROLLERS = Resource("replicationcontrollers", "ReplicationController", "v1", wire.ReplicationController)
VOLUMES = Resource("persistentvolumes", "PersistentVolume", "v1", wire.PersistentVolume, is_namespaced=False)
CLAIMS = Resource("persistentvolumeclaims", "PersistentVolumeClaim", "v1", wire.PersistentVolumeClaim)
DISRUPTION_BUDGETS = Resource("poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", wire.PodDisruptionBudget)

RESOURCES = (
    NODES,
    PODS,
    NAMESPACES,
    SERVICES,
    REPLICA_SETS,
    STATEFUL_SETS,
    REPLICATION_CONTROLLERS,
    VOLUMES,
    CLAIMS,
    DISRUPTION_BUDGETS,
)
"""All of them; the rights that longshore needs to read are `list` and `watch` on these."""
