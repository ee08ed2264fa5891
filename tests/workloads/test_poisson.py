"""Tests of the textbook load."""

import statistics

import pytest

from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.errors import InputError
from longshore.workloads.poisson import Poisson
from workloads.facts import creates, offered_load


@pytest.mark.parametrize(("nodes", "load"), [(8, 0.6), (32, 0.3)])
def test_the_offered_load_is_what_was_asked_for(nodes: int, load: float) -> None:
    trace = Poisson(nodes=nodes, pods=6000, load=load).trace(0)
    assert offered_load(trace) == pytest.approx(load, rel=0.08)


def test_gaps_and_lifetimes_are_exponential() -> None:
    trace = Poisson(pods=6000, rate_per_second=0.5, mean_lifetime_seconds=30.0).trace(0)
    times = [event.time for event in creates(trace)]
    gaps = [later - earlier for earlier, later in zip([0.0, *times], times, strict=False)]
    lifetimes = [event.lifetime or 0.0 for event in creates(trace)]
    for values, mean in ((gaps, 2.0), (lifetimes, 30.0)):
        # The mean of an exponential distribution is its deviation too.
        assert statistics.mean(values) == pytest.approx(mean, rel=0.05)
        assert statistics.stdev(values) == pytest.approx(mean, rel=0.07)


def test_pods_grow_with_the_nodes_and_the_length_does_not() -> None:
    small, large = Poisson(nodes=4).trace(0), Poisson(nodes=64).trace(0)
    assert (len(creates(small)), len(creates(large))) == (240, 3840)
    assert large.end == pytest.approx(small.end, rel=0.3)


def test_the_own_zone_is_the_nearest() -> None:
    for node in Poisson(nodes=6).trace(0).nodes:
        found = dict(node.readings.zone_latency_ms)
        assert len(found) == 3
        assert min(found, key=lambda zone: found[zone]) == dict(node.labels)[ZONE_KEY]


def test_applications_are_the_classes() -> None:
    trace = Poisson(apps=7, pods=2000).trace(0)
    assert len({event.pod.spec for event in creates(trace)}) == len(trace.controllers) == 7


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="got rate_per_second `0`, expected more than 0"):
        Poisson(rate_per_second=0)
