"""The bound for policies that turn no pod away that fits: by hand, and against all that such policies can do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore_studies.openb.tables import gate_bounds
from longshore_studies.openb.tables.bounds import Demand, Supply, most_allocated
from longshore_studies.openb.tables.gate_bounds import gate_of, most_allocated_with_gate

_Class = tuple[int, int]
MILLI = (300, 600, 810, 1000)


def supply(gpus: int, nodes: int = 1, cpu_millis: int = 64000) -> Supply:
    return Supply(np.array([cpu_millis]), np.array([100]), np.array([gpus]), ("T4",), np.array([nodes]))


def demand(*classes: _Class) -> Demand:
    """Each class is (milli-CPU, milli of one GPU)."""
    cpu, milli = (np.array(column) for column in zip(*classes, strict=True))
    ones, nothing = np.ones(len(classes), np.int64), np.zeros(len(classes))
    return Demand(cpu, ones, ones, milli, np.ones((len(classes), 1), bool), nothing, nothing)


def bound(
    nodes: Supply, asked: Demand, gate: int, arrivals: list[int], first: int = 0, narrow: int = 1
) -> float | None:
    """Measure after the last arrival; before `first` all are placed."""
    is_measured = np.arange(len(arrivals)) == len(arrivals) - 1
    most = np.bincount(arrivals, minlength=len(asked.most)).astype(float)
    forced = np.bincount(arrivals[:first], minlength=len(asked.most)).astype(float)
    asked = asked._replace(most=most, forced=forced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_bounds, "NARROW", narrow)
        return most_allocated_with_gate(nodes, asked, gate, np.array(arrivals), is_measured, first)


def best(nodes: int, gpus: int, cpu_millis: int, asked: Demand, arrivals: list[int]) -> int:
    """Return the most that policies reach that turn none away that fits, by trying all that they could do."""
    states = {tuple((cpu_millis, *[1000] * gpus) for _ in range(nodes))}
    for one in arrivals:
        cpu, milli = int(asked.cpu_millis[one]), int(asked.gpu_milli[one])
        after = set()
        for state in states:
            found = [
                tuple(sorted((*state[:node], _placed(left, gpu, cpu, milli), *state[node + 1 :])))
                for node, left in enumerate(state)
                for gpu in range(1, gpus + 1)
                if left[0] >= cpu and left[gpu] >= milli
            ]
            after.update(found or [state])
        states = after
    return max(sum(1000 * gpus - sum(node[1:]) for node in state) for state in states)


def _placed(left: tuple[int, ...], gpu: int, cpu: int, milli: int) -> tuple[int, ...]:
    return (left[0] - cpu, *(one - milli * (place == gpu) for place, one in enumerate(left) if place))


def test_pods_that_waste_cannot_be_left_out() -> None:
    asked, arrivals = demand((1000, 600), (1000, 1000)), [0, 1, 1]
    assert most_allocated(supply(2), asked._replace(most=np.array([1, 2]))) == pytest.approx(2000)
    assert bound(supply(2), asked, 0, arrivals) == pytest.approx(1600)


def test_it_may_be_full_before_they_come() -> None:
    asked, arrivals = demand((1000, 600), (1000, 1000)), [1, 1, 0]
    assert bound(supply(2), asked, 0, arrivals) == pytest.approx(2000)


def test_what_asks_for_as_much_as_the_gate_is_shut_out_with_it() -> None:
    """Of three 600 on two GPUs the third is turned away, and then no 1000 comes in; a 300 does."""
    asked = demand((1000, 600), (1000, 1000), (1000, 300))
    assert bound(supply(2), asked, 0, [0, 0, 0, 1, 2]) == pytest.approx(1500)


def test_pods_that_ask_for_less_cpu_are_not_shut_out() -> None:
    nodes, asked = supply(2, cpu_millis=3000), demand((2000, 600), (1000, 1000))
    assert bound(nodes, asked, 0, [0, 0, 1]) == pytest.approx(1600)


def test_what_must_be_placed_and_does_not_fit_has_no_bound() -> None:
    assert bound(supply(1), demand((1000, 600), (1000, 1000)), 0, [0, 0, 1], first=2) is None


def test_the_gate_is_the_share_above_half_that_most_is_asked_of() -> None:
    asked = demand((1000, 300), (1000, 600), (2000, 600), (1000, 1000))
    arrived = np.array([90, 10, 20, 90])
    assert gate_of(supply(1), asked, arrived) == 2
    assert gate_of(supply(1, cpu_millis=1500), asked, arrived) == 1
    assert gate_of(supply(1), asked, np.array([90, 0, 0, 90])) is None


@settings(max_examples=60, deadline=None)
@given(
    nodes=st.integers(1, 2),
    gpus=st.integers(1, 2),
    cpu_millis=st.sampled_from([2000, 4000, 9000]),
    classes=st.lists(st.tuples(st.sampled_from([1000, 2000]), st.sampled_from(MILLI)), min_size=2, max_size=4),
    narrow=st.sampled_from([1, 3, 32]),
    data=st.data(),
)
def test_no_policy_that_turns_none_away_is_beyond_it(
    nodes: int, gpus: int, cpu_millis: int, classes: list[_Class], narrow: int, data: st.DataObject
) -> None:
    asked = demand(*classes)
    gate = data.draw(st.integers(0, len(classes) - 1))
    arrivals = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=1, max_size=7))
    found = bound(supply(gpus, nodes, cpu_millis), asked, gate, arrivals, narrow=narrow)
    assert found is not None
    assert best(nodes, gpus, cpu_millis, asked, arrivals) <= found + 1e-6
    most = np.bincount(arrivals, minlength=len(classes))
    assert found <= most_allocated(supply(gpus, nodes, cpu_millis), asked._replace(most=most)) + 1e-6
