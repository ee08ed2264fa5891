"""Tests of the thesis' test 1: thirty one by one, all away, again."""

import pytest

from longshore.core.words.errors import InputError
from longshore.workloads.test1 import Test1
from workloads.facts import creates, deletes, latency_changes


def test_pods_come_three_seconds_apart_and_go_together() -> None:
    trace = Test1(cycles=2).trace(0)
    assert [event.time for event in creates(trace)] == [i * 3.0 for i in range(30)] + [115 + i * 3.0 for i in range(30)]
    assert [event.time for event in deletes(trace)] == [110.0] * 30 + [225.0] * 30
    assert trace.end == 230.0


def test_cycles_have_the_same_deployments_and_new_pods() -> None:
    trace = Test1(cycles=3).trace(0)
    assert len({event.pod.spec for event in creates(trace)}) == len(trace.controllers) == 30
    assert len({event.pod.key for event in creates(trace)}) == 90


def test_latencies_rotate_half_way_and_exceed_the_limit_in_the_last_quarter() -> None:
    trace = Test1().trace(0)
    first, second = latency_changes(trace)
    times = [event.time for event in creates(trace)]
    assert times[29] < first.time < times[30]
    assert times[44] < second.time < times[45]
    before = [node.readings.latency_ms for node in trace.nodes]
    assert sorted(before) == sorted(latency for _, latency in first.latency_ms) == [10.0, 18.0, 26.0]
    assert all(old != new for old, (_, new) in zip(before, first.latency_ms, strict=True))
    assert max(latency for _, latency in second.latency_ms) == 40.0


def test_seeds_change_latencies_alone() -> None:
    traces = [Test1().trace(seed) for seed in range(60)]
    assert len({tuple(creates(trace)) for trace in traces}) == 1
    assert len({tuple(node.readings.latency_ms for node in trace.nodes) for trace in traces}) == 6


@pytest.mark.parametrize(
    ("parameters", "want"),
    [
        ({"nodes": 0}, "workload `Test1`: got nodes `0`, expected 1 or more"),
        ({"cycles": -1}, "got cycles `-1`, expected 1 or more"),
        ({"create_wait_seconds": float("nan")}, "got create_wait_seconds `nan`, expected 0 or more"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, float], want: str) -> None:
    with pytest.raises(InputError, match=want):
        Test1(**parameters)
