"""Plays a run the plain way, pod by pod in NumPy with every node scored: what `openb.filling` is checked against.

It is also what the speed without the cache is measured with.
"""

import numpy as np

from longshore.core.arrays import gpu
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place, remove
from longshore.core.arrays.power import cpu_millis_left
from longshore.policies.base import Policy, choose_node
from longshore.policies.heuristics.amounts import MEMORY_COLUMN, cpu_millis_wanted
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.tables.runs import SeededRun


def play_plainly(
    problem: Problem, run: SeededRun, policy: Policy, num_events: int | None = None
) -> tuple[Array, Array]:
    """Return the node (in the order of ties; -1 = none) and the devices of every event, all nodes scored every time."""
    filling = problem.events(run.pod, run.node_rank, run.seed)
    arrays = filling.arrays
    capacity = arrays.nodes.allocatable[:, MEMORY_COLUMN]
    held: dict[int, tuple[int, Array]] = {}
    chosen, taken = [], []
    for event, pod in enumerate(run.pod[:num_events].tolist()):
        pod_class, memory = np.asarray(filling.pod_class[event]), filling.memory[event]
        if run.is_arrival[event]:
            feasible = filling.allowed[filling.models[event]] & gpu.fits(arrays, pod_class)
            feasible = feasible & (cpu_millis_left(arrays) >= cpu_millis_wanted(arrays, pod_class))
            feasible = feasible & (capacity - arrays.state.requested[:, MEMORY_COLUMN] >= memory)
            node, devices = -1, np.zeros(arrays.state.gpu_used.shape[1], np.int64)
            if feasible.any():
                choice = choose_node(policy, arrays, pod_class, feasible)
                node, devices = int(choice.node), choice.devices
                arrays = place(arrays, pod_class, np.asarray(node), devices)
                arrays.state.requested[node, MEMORY_COLUMN] += memory
            held[pod] = node, devices
        else:
            node, devices = held.pop(pod)
            if node >= 0:
                arrays = remove(arrays, pod_class, np.asarray(node), devices)
                arrays.state.requested[node, MEMORY_COLUMN] -= memory
        chosen.append(node)
        taken.append(devices)
    return np.array(chosen), np.array(taken)
