"""Nodes as workloads make them: amounts in the units that people say, annotations as a cluster's own would have.

The annotations repeat what the node's fields say, so that a trace that is written to a file reads back the same.
"""

from collections.abc import Mapping, Sequence

from longshore.core.arrays.queries import HOSTNAME_KEY
from longshore.core.words.labels import freeze
from longshore.core.words.node import Node, NodePower, NodeReadings, Taint
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.resources import CPU, MEMORY, PODS

MIB = 1024**2
GIB_IN_MIB = 1024

# The names that `kube.annotations` reads; this room may not import that one, so a test compares them.
LATENCY_MS_ANNOTATION = "longshore.dev/latency-ms"
ZONE_LATENCY_MS_ANNOTATION = "longshore.dev/zone-latency-ms"
WATTS_ANNOTATION = "longshore.dev/watts"
COST_ANNOTATION = "longshore.dev/cost-per-hour"
CARBON_ANNOTATION = "longshore.dev/carbon-grams-per-kwh"

ZONE_STEPS_MS = (0.4, 1.8, 3.1)
"""Latency to the own zone, the one beside it and those beyond: assumed, as of zones of one region, not measured."""

_DEFAULT = Node("")


def make_node(
    name: str,
    *,
    cpu: int,
    memory_mib: int,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    latency_ms: float | None = None,
    zone_latency_ms: Mapping[str, float] | None = None,
    watts: tuple[float, ...] = _DEFAULT.power.watts_at_load,
    cost_per_hour: float = _DEFAULT.cost_per_hour,
) -> Node:
    """Make a node of `cpu` cores and `memory_mib` MiB; 110 pods is the kubelet's default, the watts are a server's."""
    amounts = (
        (CPU, cpu * NANOS_PER_UNIT),
        (MEMORY, memory_mib * MIB * NANOS_PER_UNIT),
        (PODS, pods * NANOS_PER_UNIT),
    )
    zones = tuple(sorted((zone_latency_ms or {}).items()))
    notes = {
        LATENCY_MS_ANNOTATION: None if latency_ms is None else f"{latency_ms:g}",
        ZONE_LATENCY_MS_ANNOTATION: ",".join(f"{zone}={step:g}" for zone, step in zones) or None,
        WATTS_ANNOTATION: ",".join(f"{step:g}" for step in watts),
        COST_ANNOTATION: f"{cost_per_hour:g}",
        CARBON_ANNOTATION: f"{_DEFAULT.carbon_grams_per_kwh:g}",
    }
    return Node(
        name=name,
        allocatable=amounts,
        capacity=amounts,
        labels=freeze({HOSTNAME_KEY: name, "kubernetes.io/os": "linux"} | dict(labels or {})),
        annotations=freeze({key: text for key, text in notes.items() if text is not None}),
        taints=taints,
        readings=NodeReadings(latency_ms=latency_ms, zone_latency_ms=zones),
        power=NodePower(watts),
        cost_per_hour=cost_per_hour,
    )


def zone_latencies(zones: Sequence[str], own: str) -> dict[str, float]:
    """Return the latency from a node in `own` to every zone: they lie in a row, in the order given."""
    place = zones.index(own)
    return {zone: ZONE_STEPS_MS[min(abs(i - place), len(ZONE_STEPS_MS) - 1)] for i, zone in enumerate(zones)}


def numbered(prefix: str, count: int) -> list[str]:
    """Name things `prefix-0`, `prefix-1`, …, with as many digits as the last needs: names then sort as numbers do."""
    digits = len(str(max(count - 1, 0)))
    return [f"{prefix}-{number:0{digits}d}" for number in range(count)]


def cpu_nanos(cpu_millis: int) -> int:
    """Milli-cores to the unit of requests."""
    return cpu_millis * NANOS_PER_MILLI


def memory_nanos(memory_mib: int) -> int:
    """MiB to the unit of requests."""
    return memory_mib * MIB * NANOS_PER_UNIT
