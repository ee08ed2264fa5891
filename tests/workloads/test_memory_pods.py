"""Tests of pods that differ in memory alone."""

import statistics

import pytest

from longshore.workloads.memory_pods import MemoryPods
from workloads.facts import creates, request, shape


def test_nodes_have_one_unit_and_pods_ask_for_memory_alone() -> None:
    trace = MemoryPods().trace(0)
    assert [shape(node)[1] for node in trace.nodes] == [100] * 3
    requests = [request(event.pod) for event in creates(trace)]
    assert {cpu for cpu, _ in requests} == {0}
    assert min(memory for _, memory in requests) == 5
    assert max(memory for _, memory in requests) <= 100


def test_memory_and_lifetimes_have_the_seed_systems_distribution() -> None:
    trace = MemoryPods(pods=3000).trace(1)
    memory = [request(event.pod)[1] for event in creates(trace)]
    lifetimes = [event.lifetime or 0.0 for event in creates(trace)]
    # The floor of 0.05 cuts the lower tail and lifts the mean of 0.2 a little.
    assert statistics.mean(memory) == pytest.approx(20.3, abs=0.7)
    assert statistics.mean(lifetimes) == pytest.approx(55.0, abs=2.0)
    assert min(lifetimes) >= 10.0
    assert max(lifetimes) <= 100.0


@pytest.mark.parametrize(("nodes", "load"), [(3, 0.75), (6, 0.3)])
def test_the_offered_load_is_what_was_asked_for(nodes: int, load: float) -> None:
    trace = MemoryPods(nodes=nodes, pods=2000, load=load).trace(2)
    assert trace.end is not None
    asked = sum(request(event.pod)[1] * (event.lifetime or 0.0) for event in creates(trace))
    assert asked / (nodes * 100) / trace.end == pytest.approx(load, rel=0.05)
