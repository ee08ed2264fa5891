"""The nodes of `diurnal`: four shapes in three zones, some tainted, some with SSDs, each zone at its own distance.

Power curves are assumptions (steep at first, flatter when busy), not measurements of machines that exist, and so are
the latencies from zone to zone (`machines.ZONE_STEPS_MS`); prices are relative.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.errors import UnknownNameError
from longshore.core.words.node import Image, Node, Taint
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, MIB, make_node, numbered, zone_latencies

ZONES = ("zone-a", "zone-b", "zone-c")
ZONE_LATENCY_MS = {"zone-a": 8.0, "zone-b": 16.0, "zone-c": 24.0}
"""Mean latency of each zone to its users: near, middle, far."""
DISK_KEY, GENERATION_KEY, DEDICATED_KEY, WORN_KEY = "disk", "generation", "dedicated", "worn"


class Shape(NamedTuple):
    """A kind of machine."""

    name: str
    cpu: int
    memory_gib: int
    generation: int
    watts: tuple[float, ...]
    cost_per_hour: float
    weight: float
    """How frequent it is."""


SHAPES = (
    Shape("small", 8, 32, 7, (40.0, 65.0, 82.0, 95.0, 105.0), 0.4, 0.3),
    Shape("medium", 16, 64, 7, (60.0, 105.0, 138.0, 165.0, 185.0), 0.75, 0.35),
    Shape("large", 32, 128, 6, (95.0, 180.0, 240.0, 290.0, 330.0), 1.4, 0.2),
    Shape("old", 16, 48, 5, (110.0, 180.0, 235.0, 280.0, 320.0), 0.6, 0.15),
)


def make_nodes(draw: Draw, count: int, images: Sequence[str], shapes: Sequence[Shape] = SHAPES) -> tuple[Node, ...]:
    """Make the nodes; every zone, taint and disk is there from six nodes on, whatever the seed."""
    return tuple(_node(draw, number, name, images, shapes) for number, name in enumerate(numbered("node", count)))


def choose_shapes(names: str) -> tuple[Shape, ...]:
    """Return shapes by their names, separated by commas; all if there is none.

    Raises:
        UnknownNameError: no such shape.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {shape.name: shape for shape in SHAPES}
    for name in wanted:
        if name not in known:
            raise UnknownNameError("shape", name, known)
    return tuple(known[name] for name in dict.fromkeys(wanted)) or SHAPES


def zone_of(node: Node) -> str:
    """Return the node's zone."""
    return dict(node.labels)[ZONE_KEY]


def _node(draw: Draw, number: int, name: str, images: Sequence[str], shapes: Sequence[Shape]) -> Node:
    shape = draw.weighted(shapes, [shape.weight for shape in shapes])
    zone = ZONES[number % len(ZONES)]
    labels = {
        ZONE_KEY: zone,
        "node.kubernetes.io/instance-type": shape.name,
        GENERATION_KEY: str(shape.generation),
        DISK_KEY: "ssd" if number % 2 == 0 else "hdd",
    }
    taints = []
    if number % 6 == 5:
        labels[DEDICATED_KEY] = "batch"
        taints.append(Taint(DEDICATED_KEY, "batch", "NoSchedule"))
    if number % 6 == 3:
        taints.append(Taint(WORN_KEY, "", "PreferNoSchedule"))
    node = make_node(
        name,
        cpu=shape.cpu,
        memory_mib=shape.memory_gib * GIB_IN_MIB,
        labels=labels,
        taints=tuple(taints),
        latency_ms=ZONE_LATENCY_MS[zone],
        zone_latency_ms=zone_latencies(ZONES, zone),
        watts=shape.watts,
        cost_per_hour=shape.cost_per_hour,
    )
    present = [image for image in images if draw.uniform() < 0.3]
    return replace(node, images=tuple(Image((image,), 300 * MIB) for image in present))
