"""What a simulation changes from step to step."""

from typing import NamedTuple

from longshore.core.arrays.cluster_arrays import State
from longshore.core.arrays.ops import Array

# Phases of a pod.
ABSENT, WAITING, RUNNING, GONE, ASLEEP = 0, 1, 2, 3, 4
"""`ASLEEP`: it belongs to a node that is away, and comes back with it."""

BLOCK = 32
"""Pods per block."""
LATE = 2**31 - 1
"""The place in the queue of a pod that is not in it."""


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
    pod_devices: Array  # [pods, devices] int64 milli held of each GPU
    # The next pod to leave and the next to try are found by blocks: a step touches one pod, hence one block, so that
    # its cost does not grow with the length of the trace. Pod p stands in block p // BLOCK.
    pod_end: Array  # [blocks, BLOCK] float64; inf unless it runs, or sleeps, and will end by itself
    pod_order: Array  # [blocks, BLOCK] int32; place in the queue, LATE unless it waits
    pod_tried: Array  # [blocks, BLOCK] int32; the epoch of its last try
    first_end: Array  # [blocks] float64; the least `pod_end`
    first_waiting: Array  # [blocks] int32; the least `pod_order`
    first_untried: Array  # [blocks] int32; the least `pod_order` of pods that were not tried in this epoch


class StepTaken(NamedTuple):
    """What one step did; the same type for the fast simulator and its slow twin."""

    kind: Array  # [] int32, `params.Kind`
    time: Array  # [] float64, when it happened
    pod: Array  # [] int32; the pod that was decided on, or that left
    node: Array  # [] int32; where the pod was placed, -1 = it waits or the step was no decision
    is_decision: Array  # [] bool
    feasible: Array  # [] int32; how many nodes could take the pod
