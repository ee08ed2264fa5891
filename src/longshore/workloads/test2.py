"""The thesis' test 2: a rolling load, the oldest Deployment replaced by a new one, over and over.

30 Deployments of one pod 2 s apart; then the oldest is deleted, 3 s later a new one is created, 1 s later the next is
deleted. The latencies change before the pod half-way through all creations, and again before the one at three quarters
(`thesis.py`); in the variant for EL-RL, which starts with 20 pods, they change after each third.
"""

from dataclasses import dataclass
from typing import Literal

from longshore.core.words.trace import Create, Delete, Event, Trace
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.machines import numbered
from longshore.workloads.thesis import latency_changes, latency_phases, make_workers, nginx

VARIANT_PODS = {"thesis": 30, "el-rl": 20}


@dataclass(frozen=True)
class Test2:
    """Keep a number of pods, replace the oldest."""

    nodes: int = 3
    """Workers; the thesis has three. With more, their latencies repeat."""
    pods: int | None = None
    """Pods that are kept; None = the variant's own number."""
    replacements: int = 60
    """How often the oldest is replaced; the thesis goes on for ever, and 60 replace every pod twice."""
    variant: Literal["thesis", "el-rl"] = "thesis"
    """`thesis`: 30 pods. `el-rl`: 20 pods and latency changes at one and two thirds (thesis, section 5.3)."""
    first_wait_seconds: float = 2.0
    """Seconds after each of the first creations (thesis, algorithm 2)."""
    delete_wait_seconds: float = 3.0
    """Seconds between a deletion and the creation that follows (thesis, algorithm 2)."""
    create_wait_seconds: float = 1.0
    """Seconds between a creation and the deletion that follows (thesis, algorithm 2)."""

    # Not a test, whatever its name begins with: pytest would try to collect it.
    __test__ = False

    def __post_init__(self) -> None:
        check_range(self, "nodes", 1)
        check_range(self, "replacements", 0)
        if self.pods is not None:
            check_range(self, "pods", 1)
        for field in ("first_wait_seconds", "delete_wait_seconds", "create_wait_seconds"):
            check_range(self, field, 0)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed says which worker has which latency, the pods are always the same."""
        phases = latency_phases("test2", seed, self.nodes)
        workers = make_workers(phases[0])
        num_kept = VARIANT_PODS[self.variant] if self.pods is None else self.pods
        apps = [nginx(name) for name in numbered("nginx", num_kept + self.replacements)]
        pods = [app.pod(0) for app in apps]
        events: list[Event] = [Create(seconds(i * self.first_wait_seconds), pods[i]) for i in range(num_kept)]
        time = num_kept * self.first_wait_seconds
        for oldest in range(self.replacements):
            events.append(Delete(seconds(time), pods[oldest].key))
            time += self.delete_wait_seconds
            events.append(Create(seconds(time), pods[oldest + num_kept]))
            time += self.create_wait_seconds
        create_times = [event.time for event in events if isinstance(event, Create)]
        return Trace(
            nodes=workers,
            events=in_order([*latency_changes(workers, phases, self._turns(create_times)), *events]),
            controllers=tuple(app.controller for app in apps),
            end=seconds(time),
        )

    def _turns(self, create_times: list[float]) -> list[float]:
        total = len(create_times)
        if self.variant == "el-rl":
            return [create_times[total // 3], create_times[total * 2 // 3]]
        return [create_times[total // 2], create_times[total * 3 // 4]]
