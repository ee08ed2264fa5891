"""What a node is taken to draw and to cost where nobody says, and the sentences that announce it.

Watts for each CPU are the middle of what the Cloud Carbon Footprint methodology gives for the three large clouds, idle
and full; prices are close to what these clouds ask for general machines on demand, in dollars. GPUs are in neither.
"""

from collections.abc import Collection, Iterable

from longshore.core.words.node import CARBON, POWER, PRICE, Node, NodePower
from longshore.core.words.pod import ResourceNanos
from longshore.core.words.resources import CPU, MEMORY, amount

IDLE_WATTS_PER_CPU, FULL_WATTS_PER_CPU = 0.75, 3.75
PRICE_PER_CPU, PRICE_PER_GIB = 0.03, 0.004
"""For an hour."""
CARBON_GRAMS_PER_KWH = 400.0
"""Close to the world's mean."""
_MILLIS, _GIB = 1000, 2**30

_SAID = {
    POWER: ("watts", f"{IDLE_WATTS_PER_CPU:g} W idle and {FULL_WATTS_PER_CPU:g} W full for each CPU"),
    PRICE: ("price", f"${PRICE_PER_CPU:g} for each CPU and ${PRICE_PER_GIB:g} for each GiB an hour"),
    CARBON: ("carbon intensity", f"{CARBON_GRAMS_PER_KWH:g} g/kWh"),
}


def assumed_power(allocatable: ResourceNanos) -> NodePower:
    """Return the power model of a node of that size."""
    cpus = _cpus(allocatable)
    return NodePower((IDLE_WATTS_PER_CPU * cpus, FULL_WATTS_PER_CPU * cpus))


def assumed_price(allocatable: ResourceNanos) -> float:
    """Return the price of an hour of a node of that size."""
    gib = amount(MEMORY, dict(allocatable).get(MEMORY, 0)) / _GIB
    return PRICE_PER_CPU * _cpus(allocatable) + PRICE_PER_GIB * gib


def marked(text: str, assumed: Collection[str], name: str = "") -> str:
    """Return a figure's name (or the figure, with its `name`), with a word where it rests on what was assumed."""
    return f"{text} (assumed)" if (name or text) in assumed else text


def announcements(nodes: Collection[Node], kinds: Iterable[str] = (POWER, PRICE)) -> tuple[str, ...]:
    """Say what was assumed of how many nodes, a sentence for each kind; none where everything was said."""
    found = []
    for kind in kinds:
        number = sum(kind in node.assumed for node in nodes)
        name, value = _SAID[kind]
        if number:
            found.append(f"{number} of {len(nodes)} nodes have no {name}: assumed {value}")
    return tuple(found)


def assumed_kinds(nodes: Iterable[Node]) -> frozenset[str]:
    """Return what was assumed of any of the nodes."""
    return frozenset(kind for node in nodes for kind in node.assumed)


def _cpus(allocatable: ResourceNanos) -> float:
    return amount(CPU, dict(allocatable).get(CPU, 0)) / _MILLIS
