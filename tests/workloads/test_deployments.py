"""Tests of Deployments until a load."""

from collections import Counter

import pytest

from longshore.core.words.errors import InputError
from longshore.workloads.deployments import Deployments
from workloads.facts import creates, deletes, request, shape


def replicas(seed: int, **parameters: float) -> list[int]:
    trace = Deployments(**parameters).trace(seed)
    return list(Counter(event.pod.spec.owner for event in creates(trace)).values())


@pytest.mark.parametrize(("load", "want"), [(0.20, 128), (0.5, 320), (0.88, 564)])
@pytest.mark.parametrize("seed", range(3))
def test_the_load_is_met_to_the_pod(load: float, want: int, seed: int) -> None:
    trace = Deployments(load=load, resets=1).trace(seed)
    assert [shape(node) for node in trace.nodes] == [(64, 256 * 1024, 110)] * 10
    assert {request(event.pod) for event in creates(trace)} == {(1000, 2048)}
    assert len(creates(trace)) == want


def test_deployments_have_five_to_fifteen_replicas_but_for_the_last() -> None:
    found = [count for seed in range(20) for count in replicas(seed, resets=1)[:-1]]
    assert (min(found), max(found)) == (5, 15)


def test_a_reset_deletes_all_before_the_next_begins() -> None:
    trace = Deployments(resets=3).trace(1)
    assert len(deletes(trace)) == len(creates(trace)) == 3 * 128
    wipes = sorted({event.time for event in deletes(trace)})
    assert len(wipes) == 3
    for wipe in wipes:
        begun = [event.pod.key for event in creates(trace) if event.time < wipe]
        ended = [event.pod for event in deletes(trace) if event.time <= wipe]
        assert sorted(begun) == sorted(ended)


@pytest.mark.parametrize("load", [0.0, 0.89, -1.0])
def test_a_load_out_of_range_is_refused(load: float) -> None:
    with pytest.raises(InputError, match=r"expected more than 0, at most 0\.88"):
        Deployments(load=load)
