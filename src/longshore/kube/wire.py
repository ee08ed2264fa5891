"""Kubernetes objects as they travel, narrowed to the fields that scheduling reads.

msgspec checks types while it decodes and names the path of what is wrong; unknown fields are passed over.
"""

from typing import Annotated

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding may raise: bytes that are no text surface as Python's own error, and so does nesting without end."""

# The API's own widths: a number beyond them stands in no cluster, and would wrap in ours.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Quantity = str | int | float
ResourceMap = dict[str, Quantity]
StringMap = dict[str, str]


class Wire(msgspec.Struct, rename="camel", gc=False, frozen=True):
    """Base: camelCase names on the wire."""


class OwnerReference(Wire, frozen=True):
    """A reference to the object that made another."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class ObjectMeta(Wire, frozen=True):
    """Names, labels and owners."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: StringMap | None = None
    annotations: StringMap | None = None
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None
    resource_version: str = ""
    creation_timestamp: str | None = None


class SelectorRequirement(Wire, frozen=True):
    """One expression of a label selector or node selector."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Wire, frozen=True):
    """A label selector."""

    match_labels: StringMap | None = None
    match_expressions: list[SelectorRequirement] | None = None


class ResourceRequirements(Wire, frozen=True):
    """Requests and limits."""

    requests: ResourceMap | None = None
    limits: ResourceMap | None = None


class ContainerPort(Wire, frozen=True):
    """A container's port."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class RestartRule(Wire, frozen=True):
    """A rule for restarting a container, of which only the action matters here."""

    action: str = ""


class Container(Wire, frozen=True):
    """A container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[RestartRule] | None = None


class Toleration(Wire, frozen=True):
    """A toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorTerm(Wire, frozen=True):
    """A node selector term."""

    match_expressions: list[SelectorRequirement] | None = None
    match_fields: list[SelectorRequirement] | None = None


class NodeSelector(Wire, frozen=True):
    """Node selector terms, one of which must match."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredNode(Wire, frozen=True):
    """A weighted node selector term."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(Wire, frozen=True):
    """Conditions and wishes about the node."""

    required: NodeSelector | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[PreferredNode] | None = msgspec.field(default=None, name=_PREFERRED)


class PodAffinityTerm(Wire, frozen=True):
    """A condition about other pods."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A wish about other pods."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    """Conditions and wishes about other pods; anti-affinity has the same shape."""

    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[WeightedPodAffinityTerm] | None = msgspec.field(default=None, name=_PREFERRED)


class Affinity(Wire, frozen=True):
    """All kinds of affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    """A topology spread constraint."""

    max_skew: Int32 = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ClaimSource(Wire, frozen=True):
    """A volume's claim."""

    claim_name: str = ""


class EmptyDirSource(Wire, frozen=True):
    """A volume that lives as long as its pod."""

    medium: str = ""


class ImageSource(Wire, frozen=True):
    """A volume's image."""

    reference: str = ""


class SchedulingGate(Wire, frozen=True):
    """A gate that holds the pod back."""

    name: str = ""


class PodSpec(Wire, frozen=True):
    """A pod's specification."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: ResourceMap | None = None
    resources: ResourceRequirements | None = None
    tolerations: list[Toleration] | None = None
    node_selector: StringMap | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    volumes: list[dict[str, msgspec.Raw]] | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    resource_claims: list[dict[str, msgspec.Raw]] | None = None
    scheduling_group: dict[str, msgspec.Raw] | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    preemption_policy: str | None = None


class ContainerStatus(Wire, frozen=True):
    """What the kubelet gave a container: after a resize it may differ from what the specification asks."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceMap | None = None


class Condition(Wire, frozen=True):
    """A condition in a status."""

    type: str = ""
    reason: str = ""
    status: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(Wire, frozen=True):
    """A pod's status."""

    phase: str = ""
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceMap | None = None
    nominated_node_name: str = ""
    start_time: str | None = None


class Pod(Wire, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Wire, frozen=True):
    """A taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True):
    """A node's specification."""

    unschedulable: bool = False
    taints: list[Taint] | None = None


class ContainerImage(Wire, frozen=True):
    """An image on a node."""

    names: list[str] | None = None
    size_bytes: Int64 = 0


class NodeStatus(Wire, frozen=True):
    """A node's status."""

    capacity: ResourceMap | None = None
    allocatable: ResourceMap | None = None
    images: list[ContainerImage] | None = None


class Node(Wire, frozen=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(Wire, frozen=True):
    """A namespace."""

    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Wire, frozen=True):
    """A service's specification."""

    selector: StringMap | None = None


class Service(Wire, frozen=True):
    """A service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Wire, frozen=True):
    """A ReplicationController's specification: its selector is a plain map."""

    selector: StringMap | None = None


class ReplicationController(Wire, frozen=True):
    """A ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class WorkloadSpec(Wire, frozen=True):
    """A ReplicaSet's or StatefulSet's specification."""

    selector: LabelSelector | None = None


class Workload(Wire, frozen=True):
    """A ReplicaSet or StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class VolumeNodeAffinity(Wire, frozen=True):
    """From which nodes a volume can be used."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    """A volume's specification."""

    node_affinity: VolumeNodeAffinity | None = None
    csi: dict[str, msgspec.Raw] | None = None
    # Upstream treats these as volumes of their CSI drivers (k8s.io/csi-translation-lib).
    aws_elastic_block_store: dict[str, msgspec.Raw] | None = None
    azure_disk: dict[str, msgspec.Raw] | None = None
    azure_file: dict[str, msgspec.Raw] | None = None
    cinder: dict[str, msgspec.Raw] | None = None
    gce_persistent_disk: dict[str, msgspec.Raw] | None = None
    portworx_volume: dict[str, msgspec.Raw] | None = None
    vsphere_volume: dict[str, msgspec.Raw] | None = None

    @property
    def csi_driver(self) -> str | None:
        """The driver that attaches it, empty where it has no name; None = no driver does."""
        if self.csi is not None:
            return msgspec.json.decode(self.csi["driver"], type=str) if "driver" in self.csi else ""
        migrated = {
            "ebs.csi.aws.com": self.aws_elastic_block_store,
            "disk.csi.azure.com": self.azure_disk,
            "file.csi.azure.com": self.azure_file,
            "cinder.csi.openstack.org": self.cinder,
            "pd.csi.storage.gke.io": self.gce_persistent_disk,
            "pxd.portworx.com": self.portworx_volume,
            "csi.vsphere.vmware.com": self.vsphere_volume,
        }
        return next((driver for driver, source in migrated.items() if source is not None), None)


class PersistentVolume(Wire, frozen=True):
    """A persistent volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class CSINodeDriverAllocatable(Wire, frozen=True):
    """How much of a driver's a node takes."""

    count: Int32 | None = None


class CSINodeDriver(Wire, frozen=True):
    """A driver that is installed on a node."""

    name: str = ""
    allocatable: CSINodeDriverAllocatable | None = None


class CSINodeSpec(Wire, frozen=True):
    """The drivers of a node."""

    drivers: list[CSINodeDriver] | None = None


class CSINode(Wire, frozen=True):
    """What a node's drivers say of it; it has the node's name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation by which the volume controller confirms the volume that a claim names."""


class PersistentVolumeClaimSpec(Wire, frozen=True):
    """A claim's specification."""

    volume_name: str = ""
    access_modes: list[str] | None = None


class PersistentVolumeClaimStatus(Wire, frozen=True):
    """A claim's status."""

    phase: str = ""


class PersistentVolumeClaim(Wire, frozen=True):
    """A persistent volume claim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class DisruptionBudgetSpec(Wire, frozen=True):
    """Which pods a budget protects."""

    selector: LabelSelector | None = None


class DisruptionBudgetStatus(Wire, frozen=True):
    """How many pods a budget lets go, and which are on their way already."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, msgspec.Raw] | None = None


class PodDisruptionBudget(Wire, frozen=True):
    """A limit on how many pods may be taken away at once."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()


class ObjectName(Wire, frozen=True):
    """What an object is called."""

    name: str = ""
    namespace: str = ""


class ObjectVersion(ObjectName, frozen=True):
    """What an object is called and which version of it this is."""

    uid: str = ""
    resource_version: str = ""


class Envelope(Wire, frozen=True):
    """An object of which nothing else could be read."""

    metadata: ObjectVersion = ObjectVersion()


class Kind(Wire, frozen=True):
    """What an object says it is, whatever else it holds."""

    api_version: str = ""
    kind: str = ""


class TypeMeta(Kind, frozen=True):
    """What an object says it is and how it is called; what else its metadata holds is not looked at."""

    metadata: ObjectName = ObjectName()


class ObjectList(Wire, frozen=True):
    """What `kubectl get -o json` prints for several objects; of a single object, its kind."""

    kind: str
    api_version: str = ""
    items: list[msgspec.Raw] | None = None
