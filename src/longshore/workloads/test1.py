"""The thesis' test 1: Deployments created one by one, then all deleted, and again.

30 Deployments of one pod 3 s apart; 20 s after the last wait all are deleted; 5 s later the next cycle begins. The
latencies change before the pod half-way through all cycles, and again before the one at three quarters (`thesis.py`).
"""

from dataclasses import dataclass

from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.machines import numbered
from longshore.workloads.thesis import latency_changes, latency_phases, make_workers, nginx


@dataclass(frozen=True)
class Test1:
    """Create all, delete all, repeat."""

    nodes: int = 3
    """Workers; the thesis has three. With more, their latencies repeat."""
    pods: int = 30
    """Pods created in each cycle; 30 fill 7.5 of a worker's 8 CPUs, so one worker can hold them all."""
    cycles: int = 2
    """How often all are created and deleted; the thesis has 500, and two show every phase of the latencies."""
    create_wait_seconds: float = 3.0
    """Seconds after each creation (thesis, algorithm 1)."""
    full_wait_seconds: float = 20.0
    """Seconds for which all pods run (thesis, algorithm 1)."""
    empty_wait_seconds: float = 5.0
    """Seconds for which the cluster stays empty (thesis, algorithm 1)."""

    # Not a test, whatever its name begins with: pytest would try to collect it.
    __test__ = False

    def __post_init__(self) -> None:
        for field in ("nodes", "pods", "cycles"):
            check_range(self, field, 1)
        for field in ("create_wait_seconds", "full_wait_seconds", "empty_wait_seconds"):
            check_range(self, field, 0)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed says which worker has which latency, the pods are always the same."""
        phases = latency_phases("test1", seed, self.nodes)
        workers = make_workers(phases[0])
        apps = [nginx(name) for name in numbered("nginx", self.pods)]
        cycle_seconds = self.pods * self.create_wait_seconds + self.full_wait_seconds + self.empty_wait_seconds
        events: list[Event] = []
        create_times = []
        for cycle in range(self.cycles):
            start = cycle * cycle_seconds
            pods = [app.pod(cycle) for app in apps]
            times = [seconds(start + i * self.create_wait_seconds) for i in range(self.pods)]
            create_times += times
            events += [Create(time, pod) for time, pod in zip(times, pods, strict=True)]
            deleted = seconds(start + self.pods * self.create_wait_seconds + self.full_wait_seconds)
            events += [Delete(deleted, pod.key) for pod in pods]
        turns = [create_times[len(create_times) // 2], create_times[len(create_times) * 3 // 4]]
        return Trace(
            nodes=workers,
            events=in_order([*latency_changes(workers, phases, turns), *events]),
            controllers=tuple(app.controller for app in apps),
            end=seconds(self.cycles * cycle_seconds),
        )
