"""Tests of the replay: what was observed is measured as the simulator measures it."""

import math

import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, LatencyChange, Trace
from longshore.evaluation.series import Series, simulate_trace
from longshore.live.recording import Happened, PodBound, PodGone, Recording
from longshore.live.replay import replay, waiting_seconds
from longshore.workloads.build import build_workload


@pytest.fixture(scope="module")
def simulated_test1() -> tuple[Trace, Series]:
    trace = build_workload("test1", {}).trace(2)
    return trace, simulate_trace("test1", trace, "kube-default", seed=2)


def observed_as_simulated(trace: Trace, simulated: Series, delay: float = 0.0) -> Recording:
    """Pretend that a cluster did what the simulator did, binding every pod so many seconds after it came."""
    nodes = {decision.pod: decision.node for decision in simulated.decisions}
    happened: list[Happened] = []
    for event in trace.events:
        match event:
            case Create(time, pod):
                node = nodes[pod.key]
                assert node is not None
                happened += [event, PodBound(time + delay, pod.key, node)]
            case Delete(time, key):
                happened.append(PodGone(time, key, is_finished=False))
            case LatencyChange():
                happened.append(event)
    return Recording(trace, tuple(sorted(happened, key=lambda one: one.time)))


def test_replayed_decisions_have_the_metrics_of_the_simulation(simulated_test1: tuple[Trace, Series]) -> None:
    trace, simulated = simulated_test1
    replayed = replay(observed_as_simulated(trace, simulated), "test1", "default-scheduler", seed=2)
    assert replayed.policy == "default-scheduler"
    for name, value in simulated.metrics.items():
        assert replayed.metrics[name] == pytest.approx(value, nan_ok=True), name
    assert replayed.to_json().keys() == simulated.to_json().keys()


def test_waiting_counts_as_pending(simulated_test1: tuple[Trace, Series]) -> None:
    trace, simulated = simulated_test1
    recording = observed_as_simulated(trace, simulated, delay=0.5)
    assert trace.end is not None
    assert replay(recording, "test1", "late").metrics["pending"] == pytest.approx(60 * 0.5 / trace.end)


def test_waiting_seconds_are_real_seconds(simulated_test1: tuple[Trace, Series]) -> None:
    recording = observed_as_simulated(*simulated_test1, delay=0.5)
    assert waiting_seconds(recording, speed=10.0) == pytest.approx((0.05, 0.05, 0.05, 0.05))


def test_nothing_bound_has_no_waiting_seconds() -> None:
    trace = build_workload("test1", {"cycles": 1, "pods": 1}).trace(0)
    assert all(map(math.isnan, waiting_seconds(Recording(trace, ()))))


def test_a_recording_without_pods_is_refused() -> None:
    trace = build_workload("test1", {}).trace(0)
    with pytest.raises(InputError, match="no pod was seen"):
        replay(Recording(trace, ()), "test1", "nobody")
