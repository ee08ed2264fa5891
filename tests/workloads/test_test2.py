"""Tests of the thesis' test 2: a rolling load."""

from longshore.core.words.trace import Create, Delete
from longshore.workloads.test2 import Test2
from workloads.facts import creates, deletes, latency_changes


def test_waits_are_two_three_and_one_seconds() -> None:
    trace = Test2(replacements=2).trace(0)
    times = [(type(event), event.time) for event in trace.events if isinstance(event, Create | Delete)]
    assert times[:30] == [(Create, i * 2.0) for i in range(30)]
    assert times[30:] == [(Delete, 60.0), (Create, 63.0), (Delete, 64.0), (Create, 67.0)]
    assert trace.end == 68.0


def test_the_oldest_is_replaced() -> None:
    trace = Test2().trace(0)
    created, deleted = [event.pod.key for event in creates(trace)], [event.pod for event in deletes(trace)]
    assert deleted == created[:60]
    assert len(created) == 90


def test_every_replacement_is_a_new_deployment() -> None:
    trace = Test2().trace(0)
    assert len({event.pod.spec.owner for event in creates(trace)}) == len(trace.controllers) == 90


def test_latencies_change_half_way_and_at_three_quarters() -> None:
    trace = Test2().trace(0)
    times = [event.time for event in creates(trace)]
    first, second = latency_changes(trace)
    assert (times[44] < first.time < times[45], times[66] < second.time < times[67]) == (True, True)
    assert max(latency for _, latency in second.latency_ms) == 40.0


def test_the_variant_for_el_rl_keeps_twenty_pods_and_changes_after_each_third() -> None:
    trace = Test2(variant="el-rl", replacements=100).trace(0)
    times = [event.time for event in creates(trace)]
    assert deletes(trace)[0].time == times[19] + 2.0
    first, second = latency_changes(trace)
    assert (times[39] < first.time < times[40], times[79] < second.time < times[80]) == (True, True)


def test_a_number_of_pods_wins_over_the_variants() -> None:
    assert len(creates(Test2(pods=5, variant="el-rl", replacements=1).trace(0))) == 6
