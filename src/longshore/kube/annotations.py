"""The annotations and labels that longshore reads, in one place.

Latency limits are in `words.pod`. All are input from tenants: each is checked, and one that looks like ours and is none
is named with the nearest that there is.
"""

from collections.abc import Iterable

from longshore.core.words.errors import nearest_name
from longshore.core.words.pod import LATENCY_HARD_ANNOTATIONS, LATENCY_SOFT_ANNOTATIONS

PREFIX = "longshore.dev/"

GPU_COUNT = "longshore.dev/gpu-count"
"""On a pod: how many devices it wants. On a node: how many it has."""
GPU_MILLI = "longshore.dev/gpu-milli"
"""On a pod: thousandths of each device, 1 to 1000 (the default)."""
GPU_MODEL = "longshore.dev/gpu-model"
"""On a node: the model of its devices. On a pod: the models that it accepts, separated by `|`."""
GPU_DEVICES = "longshore.dev/gpu-devices"
"""On a bound pod: the devices that it holds, such as `0,1`."""

LATENCY_MS = "longshore.dev/latency-ms"
"""On a node: latency to its users, where no probe measures it."""
ZONE_LATENCY_MS = "longshore.dev/zone-latency-ms"
"""On a node: latency to the nodes of each zone, such as `zone-a=0.4,zone-b=1.8`; zones not named are not known."""
WATTS = "longshore.dev/watts"
"""On a node: watts at even steps of CPU use, idle first, such as `90,160,210`."""
COST_PER_HOUR = "longshore.dev/cost-per-hour"
"""On a node: its price."""
CARBON_GRAMS_PER_KWH = "longshore.dev/carbon-grams-per-kwh"
"""On a node: the intensity of the grid that feeds it."""

RUN = "longshore.dev/workload"
"""Label: the run of `longshore workload` that made the object."""

_OF_NODES = (GPU_COUNT, GPU_MODEL, LATENCY_MS, ZONE_LATENCY_MS, WATTS, COST_PER_HOUR, CARBON_GRAMS_PER_KWH, RUN)
_OF_PODS = (
    *(LATENCY_SOFT_ANNOTATIONS[0], LATENCY_HARD_ANNOTATIONS[0]),
    *(GPU_COUNT, GPU_MILLI, GPU_MODEL, GPU_DEVICES, RUN),
)


def unknown_keys(keys: Iterable[str], *, is_pod: bool) -> tuple[str, ...]:
    """Say of annotations and labels of a pod or a node which bear our prefix and mean nothing, and what was meant."""
    ours = _OF_PODS if is_pod else _OF_NODES
    found = sorted({key for key in keys if key.startswith(PREFIX) and key not in ours})
    return tuple(_unknown(key, ours, is_pod=is_pod) for key in found)


def _unknown(key: str, ours: Iterable[str], *, is_pod: bool) -> str:
    nearest = nearest_name(key.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in ours])
    text = f"`{key}` means nothing on a {'pod' if is_pod else 'node'}"
    return text if nearest is None else f"{text}; did you mean `{PREFIX}{nearest}`?"
