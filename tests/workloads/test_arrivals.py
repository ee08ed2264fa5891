"""Tests of arrivals."""

from longshore.workloads.apps import make_app
from longshore.workloads.arrivals import create, poisson_creates
from longshore.workloads.draw import Draw

APP = make_app("web", cpu_millis=100, memory_mib=64)


def test_a_pod_lives_a_millisecond_at_least() -> None:
    assert create(1.00049, APP, 0, 0.0000001)[::2] == (1.0, 0.001)


def test_popular_applications_come_more_often() -> None:
    rare = make_app("rare", cpu_millis=100, memory_mib=64, weight=0.1)
    found = list(poisson_creates(Draw("a", 0), (APP, rare), count=1100, rate_per_second=1.0, mean_lifetime_seconds=1.0))
    assert 70 < sum(event.pod.spec == rare.spec for event in found) < 130
