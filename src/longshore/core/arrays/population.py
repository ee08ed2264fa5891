"""Which pods a cluster has: by key, by class and by node."""

from collections import Counter
from dataclasses import dataclass, field, replace

from longshore.core.words.pod import GpuRequest, Pod, PodSpec
from longshore.core.words.resources import CPU, PodRequests, pod_requests


@dataclass(eq=False, slots=True)
class PodClass:
    """Pods of one spec: how many there are, and where."""

    spec: PodSpec
    requests: PodRequests
    kind: tuple[int, GpuRequest | None]
    """What makes pods alike where typical ones are counted (`arrays.typical`)."""
    keeps_on: int = 1
    """1 = its pods keep their node on."""
    num_pods: int = 0
    num_waiting: int = 0
    on_nodes: dict[str, int] = field(default_factory=dict)
    """Pods by node, of nodes that are not known too."""
    index: int = -1
    """In the arrays; -1 = not there."""
    is_compiled: bool = False
    """The arrays know where its pods may go, and not only what they take."""
    own: list[tuple[int, int]] | None = None
    """Queries that count it, each with what one pod adds; None = to be looked up (`arrays.compiler`)."""

    @classmethod
    def of(cls, spec: PodSpec) -> "PodClass":
        """Return the class of a spec, without pods."""
        requests = pod_requests(spec)
        return cls(spec, requests, (dict(requests.amounts).get(CPU, 0), spec.gpu), int(spec.keeps_node_on))


class Population:
    """The pods."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        """In the order in which they came to where they are."""
        self.classes: dict[PodSpec, PodClass] = {}
        self.residents: dict[str, dict[str, Pod]] = {}
        """Those that are bound, by node and key, in the order in which they came."""
        self.kinds: Counter[tuple[int, GpuRequest | None]] = Counter()
        self.num_gpu_pods = 0
        self.num_classes = 0
        """Classes that have pods."""

    def class_of(self, spec: PodSpec) -> PodClass:
        """Return the class of a spec, made on first use."""
        found = self.classes.get(spec)
        if found is None:
            found = self.classes[spec] = PodClass.of(spec)
        return found

    def put(self, pod: Pod, pod_class: PodClass) -> Pod:
        """Add a pod, which is not there yet; return it with the spec that all pods of its class share."""
        if pod.spec is not pod_class.spec:
            pod = replace(pod, spec=pod_class.spec)
        key = pod.key
        self.pods[key] = pod
        self._count(pod_class, 1)
        if pod.bound_to:
            self.residents.setdefault(pod.bound_to, {})[key] = pod
            pod_class.on_nodes[pod.bound_to] = pod_class.on_nodes.get(pod.bound_to, 0) + 1
        else:
            pod_class.num_waiting += 1
        return pod

    def renew(self, pod: Pod) -> None:
        """Put another word about a pod that is of the same class and where it was."""
        self.pods[pod.key] = pod
        if pod.bound_to:
            self.residents[pod.bound_to][pod.key] = pod

    def take(self, key: str) -> None:
        """Take a pod away, which is there."""
        pod = self.pods.pop(key)
        pod_class, node = self.classes[pod.spec], pod.bound_to
        self._count(pod_class, -1)
        if not node:
            pod_class.num_waiting -= 1
            return
        del self.residents[node][key]
        if not self.residents[node]:
            del self.residents[node]
        pod_class.on_nodes[node] -= 1
        if not pod_class.on_nodes[node]:
            del pod_class.on_nodes[node]

    def forget_unused(self, kept: set[PodClass]) -> None:
        """Drop the classes that no pod has, but for some."""
        self.classes = {spec: one for spec, one in self.classes.items() if one.num_pods or one in kept}

    def gpu_pods_on(self, node: str) -> list[Pod]:
        """Return the pods of a node that hold GPUs, in the order in which they came."""
        return [pod for pod in self.residents.get(node, {}).values() if pod.spec.gpu is not None]

    def _count(self, pod_class: PodClass, sign: int) -> None:
        pod_class.num_pods += sign
        if pod_class.num_pods == (1 if sign > 0 else 0):
            self.num_classes += sign
        self.kinds[pod_class.kind] += sign
        if not self.kinds[pod_class.kind]:
            del self.kinds[pod_class.kind]
        if pod_class.spec.gpu is not None:
            self.num_gpu_pods += sign
