"""The annotations and labels that longshore reads, in one place.

Latency limits keep the names that the thesis gave them (`words.pod`). They are input from tenants: each is checked.
"""

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
