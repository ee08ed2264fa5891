"""What a simulation changes from step to step."""

from typing import NamedTuple

from longshore.core.arrays import State
from longshore.core.ops import Array

# Phases of a pod.
ABSENT, WAITING, RUNNING, GONE = 0, 1, 2, 3


class SimState(NamedTuple):
    """The simulation at one moment."""

    cluster: State
    time: Array  # [] float64 seconds
    cursor: Array  # [] int32; the next event of the trace
    epoch: Array  # [] int32; grows whenever room may have come free: waiting pods are then tried again
    arrivals: Array  # [] int32; the next place in the queue
    is_up: Array  # [nodes] bool; the node exists
    is_cordoned: Array  # [nodes] bool; it takes no new pods
    latency_ms: Array  # [nodes] float64; as it is
    seen_latency_ms: Array  # [nodes] float64; as it was last scraped
    pod_phase: Array  # [pods] int8
    pod_node: Array  # [pods] int32
    pod_end: Array  # [pods] float64; inf unless it runs and will end by itself
    pod_order: Array  # [pods] int32; place in the queue
    pod_tried: Array  # [pods] int32; the epoch of its last try
    pod_devices: Array  # [pods, devices] int64 milli held of each GPU


class Outcome(NamedTuple):
    """What one step did; the same type for the fast simulator and its slow twin."""

    kind: Array  # [] int32, `params.Kind`
    time: Array  # [] float64, when it happened
    pod: Array  # [] int32; the pod that was decided on, or that left
    node: Array  # [] int32; where the pod was placed, -1 = it waits or the step was no decision
    is_decision: Array  # [] bool
    feasible: Array  # [] int32; how many nodes could take the pod
