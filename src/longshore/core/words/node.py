"""The node: what it has, what it is called, what was measured on it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from longshore.core.words.labels import Labels
from longshore.core.words.pod import ResourceNanos

MAX_DEVICES = 64
"""The most GPU devices of a node: with many more, the exact sums of `arrays.fragmentation` would leave int64."""


POWER, PRICE, CARBON = "power", "price", "carbon"
"""What may have to be assumed of a node."""


class Taint(NamedTuple):
    """A mark that keeps pods away: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


class Image(NamedTuple):
    """A container image present on the node, under all of its names."""

    names: tuple[str, ...]
    size_bytes: int


class NodeReadings(NamedTuple):
    """What was last measured; None = not known. Who measured it is not the reader's business."""

    latency_ms: float | None = None
    connections: float | None = None
    traffic_bytes_per_second: float | None = None
    cpu_ratio: float | None = None
    watts: float | None = None
    zone_latency_ms: tuple[tuple[str, float], ...] = ()
    """Latency from the node to the nodes of each zone, by the zone's name, sorted. Zones that are not named are not
    known. By zone, since a probe can measure that at any size of cluster, and from node to node it cannot."""


class NodePower(NamedTuple):
    """The node's power model: watts at even steps of CPU use, 0 to 1; two points make the linear model.

    The default is a common two-socket server; the curve of a machine of one's own belongs in the node's annotations.
    """

    watts_at_load: tuple[float, ...] = (100.0, 300.0)


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that pods run on."""

    name: str
    allocatable: ResourceNanos = ()
    capacity: ResourceNanos = ()
    labels: Labels = ()
    annotations: Labels = ()
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    images: tuple[Image, ...] = ()
    gpu_count: int = 0
    gpu_model: str = ""
    readings: NodeReadings = field(default_factory=NodeReadings)
    power: NodePower = field(default_factory=NodePower)
    cost_per_hour: float = 1.0
    carbon_grams_per_kwh: float = 400.0
    """Grid intensity where the node stands; 400 is close to the world's mean."""
    assumed: tuple[str, ...] = ()
    """Which of `POWER`, `PRICE` and `CARBON` nobody has said, sorted (`words.assumed`)."""
