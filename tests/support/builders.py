"""Builders for nodes, pods and whole random clusters: `make_node("a").cpu("4").build()`.

A builder is immutable: every step returns a new one, so a common start can be shared. Numbers are milli-CPU, bytes and
counts (`cpu(500)`, `memory(1024)`); text is a Kubernetes quantity (`cpu("0.5")`, `memory("1Gi")`).
"""

import random
from dataclasses import dataclass, field, replace
from typing import Any, Self

from longshore.core.words.assumed import assumed_power, assumed_price
from longshore.core.words.labels import freeze
from longshore.core.words.node import CARBON, POWER, PRICE, Image, Node, NodePower, NodeReadings, Taint
from longshore.core.words.pod import Container, GpuRequest, HostPort, Owner, Pod, PodSpec, Toleration
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT, parse_nanos
from longshore.core.words.snapshot import Snapshot

GIB = 1024**3


@dataclass(frozen=True)
class NodeBuilder:
    """Builds a node; it has 4 CPUs, 16 GiB and room for 110 pods until told otherwise."""

    node: Node
    amounts: tuple[tuple[str, int], ...] = ()

    def cpu(self, amount: int | str) -> Self:
        """Set CPU, in milli or as a quantity."""
        return self._amount("cpu", amount, NANOS_PER_MILLI)

    def memory(self, amount: int | str) -> Self:
        """Set memory, in bytes or as a quantity."""
        return self._amount("memory", amount)

    def pods(self, amount: int | str) -> Self:
        """Set how many pods fit."""
        return self._amount("pods", amount)

    def resource(self, name: str, amount: int | str) -> Self:
        """Set any other resource."""
        return self._amount(name, amount)

    def label(self, key: str, value: str = "") -> Self:
        """Add a label."""
        return self._with(labels=freeze(dict(self.node.labels) | {key: value}))

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        """Add a taint."""
        return self._with(taints=(*self.node.taints, Taint(key, value, effect)))

    def unschedulable(self) -> Self:
        """Cordon the node."""
        return self._with(is_unschedulable=True)

    def image(self, name: str, size_bytes: int) -> Self:
        """Add an image that the node already has."""
        return self._with(images=(*self.node.images, Image((name,), size_bytes)))

    def gpu(self, count: int, model: str = "") -> Self:
        """Give the node GPUs of one model."""
        return self._with(gpu_count=count, gpu_model=model)

    def readings(self, **readings: Any) -> Self:
        """Set what was measured, by the names of `NodeReadings`."""
        return self._with(readings=self.node.readings._replace(**readings))

    def power(self, *watts_at_load: float) -> Self:
        """Set the watts at even steps of CPU use."""
        return self._with(power=NodePower(watts_at_load))

    def cost(self, per_hour: float) -> Self:
        """Set what an hour costs."""
        return self._with(cost_per_hour=per_hour)

    def carbon(self, grams_per_kwh: float) -> Self:
        """Set the grid intensity where the node stands."""
        return self._with(carbon_grams_per_kwh=grams_per_kwh)

    def unannotated(self) -> Self:
        """Say nothing of watts, price and grid, as most clusters do: they are assumed by the size set by now."""
        power, cost = assumed_power(self.amounts), assumed_price(self.amounts)
        return self._with(power=power, cost_per_hour=cost, assumed=(CARBON, POWER, PRICE))

    def build(self) -> Node:
        """Return the node."""
        return replace(self.node, allocatable=self.amounts, capacity=self.amounts)

    def _with(self, **changes: Any) -> Self:
        return replace(self, node=replace(self.node, **changes))

    def _amount(self, name: str, amount: int | str, nanos_per_unit: int = NANOS_PER_UNIT) -> Self:
        return replace(self, amounts=_with_amount(self.amounts, name, amount, nanos_per_unit))


@dataclass(frozen=True)
class PodBuilder:
    """Builds a pod with one container that asks for nothing until told otherwise."""

    pod: Pod
    container: Container = field(default_factory=lambda: Container(image="app"))

    def cpu(self, amount: int | str) -> Self:
        """Ask for CPU, in milli or as a quantity."""
        return self._request("cpu", amount, NANOS_PER_MILLI)

    def memory(self, amount: int | str) -> Self:
        """Ask for memory, in bytes or as a quantity."""
        return self._request("memory", amount)

    def resource(self, name: str, amount: int | str) -> Self:
        """Ask for any other resource."""
        return self._request(name, amount)

    def image(self, name: str) -> Self:
        """Set the container's image."""
        return replace(self, container=self.container._replace(image=name))

    def host_port(self, port: int, protocol: str = "TCP") -> Self:
        """Hold a port of the node."""
        return replace(self, container=self.container._replace(ports=(*self.container.ports, HostPort(port, protocol))))

    def gpu(self, count: int = 1, milli: int = 1000, models: tuple[str, ...] = ()) -> Self:
        """Ask for GPUs: whole ones, or a share of one."""
        return self.spec(gpu=GpuRequest(count, milli, models))

    def latency(self, soft_ms: float | None = None, hard_ms: float | None = None) -> Self:
        """Set the latency limits."""
        return self.spec(latency_soft_ms=soft_ms, latency_hard_ms=hard_ms)

    def namespace(self, name: str) -> Self:
        """Set the namespace."""
        return self.spec(namespace=name)

    def label(self, key: str, value: str = "") -> Self:
        """Add a label."""
        return self.spec(labels=freeze(dict(self.pod.spec.labels) | {key: value}))

    def node_selector(self, key: str, value: str) -> Self:
        """Want a node with this label."""
        return self.spec(node_selector=freeze(dict(self.pod.spec.node_selector) | {key: value}))

    def toleration(self, key: str = "", operator: str = "Exists", value: str = "", effect: str = "") -> Self:
        """Put up with a taint."""
        return self.spec(tolerations=(*self.pod.spec.tolerations, Toleration(key, operator, value, effect)))

    def owner(self, kind: str, name: str, api_version: str = "apps/v1") -> Self:
        """Name the controller that made the pod."""
        return self.spec(owner=Owner(api_version, kind, name))

    def on(self, node_name: str, gpu_devices: tuple[int, ...] | None = None) -> Self:
        """Bind the pod to a node, on known devices if it holds GPUs."""
        return replace(self, pod=replace(self.pod, bound_to=node_name, gpu_devices=gpu_devices))

    def priority(self, value: int) -> Self:
        """Set the priority."""
        return replace(self, pod=replace(self.pod, priority=value))

    def spec(self, **changes: Any) -> Self:
        """Set any field of the spec by its name."""
        return replace(self, pod=replace(self.pod, spec=replace(self.pod.spec, **changes)))

    def build(self) -> Pod:
        """Return the pod."""
        containers = self.pod.spec.containers or (self.container,)
        return replace(self.pod, spec=replace(self.pod.spec, containers=containers))

    def _request(self, name: str, amount: int | str, nanos_per_unit: int = NANOS_PER_UNIT) -> Self:
        requests = _with_amount(self.container.requests, name, amount, nanos_per_unit)
        return replace(self, container=self.container._replace(requests=requests))


def make_node(name: str) -> NodeBuilder:
    """Start a node."""
    return NodeBuilder(Node(name=name, readings=NodeReadings())).cpu("4").memory("16Gi").pods(110)


def make_pod(name: str) -> PodBuilder:
    """Start a pod."""
    return PodBuilder(Pod(name=name, spec=PodSpec()))


def make_snapshot(*parts: NodeBuilder | PodBuilder, **fields: Any) -> Snapshot:
    """Put nodes and pods together; other fields of `Snapshot` by their names."""
    nodes = tuple(part.build() for part in parts if isinstance(part, NodeBuilder))
    pods = tuple(part.build() for part in parts if isinstance(part, PodBuilder))
    return Snapshot(nodes=nodes, pods=pods, **fields)


def random_snapshot(seed: int, *, num_nodes: int = 6, num_pods: int = 20) -> Snapshot:
    """Make a cluster of unlike nodes, some with GPUs and some without readings, half of its pods bound where they fit.

    Whole CPUs, few sizes and equal nodes are frequent: ties are where policies go wrong. Every
    seventh pod is a DaemonSet's.
    """
    rng = random.Random(seed)
    nodes = [_random_node(rng, name) for name in rng.sample(range(100), num_nodes)]
    pods = [_random_pod(rng, f"pod-{i}") for i in range(num_pods)]
    pods[::7] = [pod.owner("DaemonSet", "agent") for pod in pods[::7]]
    pods[: num_pods // 2] = [pod.on(rng.choice(nodes).node.name) for pod in pods[: num_pods // 2]]
    return make_snapshot(*nodes, *_without_overcommit(nodes, pods))


def _random_node(rng: random.Random, number: int) -> NodeBuilder:
    node = make_node(f"node-{number:02d}").cpu(rng.choice([4000, 8000, 8000, 96000])).memory(rng.choice([16, 64]) * GIB)
    node = node.label("zone", rng.choice("abc")).power(*rng.choice([(100.0, 300.0), (80.0, 150.0, 180.0, 260.0)]))
    if rng.random() < 0.3:
        node = node.taint("wear", effect=rng.choice(["NoSchedule", "PreferNoSchedule"]))
    if rng.random() < 0.6:
        node = node.gpu(rng.choice([1, 2, 8]), rng.choice(["T4", "A100"]))
    names = ("latency_ms", "connections", "traffic_bytes_per_second", "cpu_ratio")
    ranges = (100.0, 50.0, 1e9, 1.0)
    known = {name: rng.choice([0.25, 0.5, rng.random()]) * most for name, most in zip(names, ranges, strict=True)}
    return node.readings(**{name: value for name, value in known.items() if rng.random() < 0.7})


def _random_pod(rng: random.Random, name: str) -> PodBuilder:
    pod = make_pod(name).label("app", rng.choice("xyz"))
    if rng.random() < 0.8:
        pod = pod.cpu(rng.choice([100, 250, 500, 1000, 2000, 1730]))
    if rng.random() < 0.8:
        pod = pod.memory(rng.choice(["128Mi", "1Gi", "3Gi", "1000M"]))
    if rng.random() < 0.4:
        pod = pod.gpu(*rng.choice([(1, 300), (1, 460), (1, 810), (1, 1000), (2, 1000)]))
    if rng.random() < 0.3:
        soft = rng.choice([10.0, 25.0, 50.0])
        pod = pod.latency(soft, rng.choice([None, 2 * soft]))
    return pod.toleration("wear") if rng.random() < 0.5 else pod


def _without_overcommit(nodes: list[NodeBuilder], pods: list[PodBuilder]) -> list[PodBuilder]:
    """Set free the bound pods for which there is no room, as the cluster would never have bound them."""
    left = {node.node.name: dict(node.amounts) for node in nodes}
    whole = {node.node.name: node.node.gpu_count for node in nodes}

    def kept(pod: PodBuilder) -> PodBuilder:
        name, gpu, wanted = pod.pod.bound_to, pod.pod.spec.gpu, dict(pod.container.requests)
        if not name:
            return pod
        # A share counts as a whole device here, which leaves more room than there must be.
        num_devices = gpu.count if gpu else 0
        if num_devices > whole[name] or any(left[name].get(key, 0) < amount for key, amount in wanted.items()):
            return pod.on("")
        left[name] |= {key: left[name][key] - amount for key, amount in wanted.items()}
        whole[name] -= num_devices
        return pod

    return [kept(pod) for pod in pods]


def _with_amount(
    amounts: tuple[tuple[str, int], ...], name: str, amount: int | str, nanos_per_unit: int
) -> tuple[tuple[str, int], ...]:
    nanos = parse_nanos(amount) if isinstance(amount, str) else amount * nanos_per_unit
    return tuple(sorted((dict(amounts) | {name: nanos}).items()))
