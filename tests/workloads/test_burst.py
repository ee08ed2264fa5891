"""Tests of the load with bursts."""

import itertools

from longshore.workloads.burst import Burst
from longshore.workloads.poisson import Poisson
from workloads.facts import creates


def bursts(trace_of: Burst, seed: int) -> list[list[float]]:
    times = [event.time for event in creates(trace_of.trace(seed)) if event.pod.name.startswith("burst-")]
    groups = [[times[0]]]
    for earlier, later in itertools.pairwise(times):
        if later - earlier > 10.0:
            groups.append([])
        groups[-1].append(later)
    return groups


def test_bursts_come_within_seconds() -> None:
    for seed in range(5):
        found = bursts(Burst(), seed)
        assert [len(times) for times in found] == [160] * 5
        assert all(times[-1] - times[0] <= 2.0 for times in found)


def test_the_calm_part_is_poissons() -> None:
    burst, calm = Burst(nodes=3).trace(1), Poisson(nodes=3, load=0.4).trace(1)
    assert [event for event in creates(burst) if not event.pod.name.startswith("burst-")] == creates(calm)


def test_no_bursts_leave_the_calm_part_alone() -> None:
    assert creates(Burst(bursts=0).trace(2)) == creates(Poisson(load=0.4).trace(2))
