"""Pods that come and go: the order of events, the load, and what is counted while they do."""

from dataclasses import replace

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.churn import Case, churn_row, with_departures
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.runs import SeededRuns, play
from studies.openb.tables.small_trace import TRACE

HOUR = 3600.0
NODES = Nodes(("a", "b"), np.array([64_000, 64_000]), np.array([1000, 1000]), np.array([2, 2]), ("T4", "T4"))


def make_pods(created: list[float], deleted: list[float], names: tuple[str, ...] | None = None) -> Pods:
    """Pods that want a whole GPU each."""
    number = len(created)
    ones = np.ones(number, np.int64)
    return Pods(
        names or tuple(f"p{i:02d}" for i in range(number)),
        1000 * ones,
        ones,
        ones,
        1000 * ones,
        ((),) * number,
        np.array(created),
        np.array(deleted),
    )


def case_of(pods: Pods, peak: float = 1.0) -> Case:
    return with_departures(NODES, {"own": pods}, (1,), (peak,))[0]


def events(case: Case) -> list[tuple[int, bool]]:
    run = case.batch.runs[0]
    return list(zip(run.pod.tolist(), run.is_arrival.tolist(), strict=True))


def test_those_that_leave_make_room_for_those_that_come_at_that_moment() -> None:
    case = case_of(make_pods([0.0, 5.0], [5.0, 9.0]))
    assert events(case) == [(0, True), (0, False), (1, True), (1, False)]


def test_of_pods_that_come_at_one_moment_the_lowest_name_is_first() -> None:
    case = case_of(make_pods([0.0, 0.0], [5.0, 6.0], names=("b", "a")))
    assert events(case)[:2] == [(1, True), (0, True)]


def test_a_pod_that_leaves_the_moment_it_comes_has_come() -> None:
    assert events(case_of(make_pods([3.0], [3.0]))) == [(0, True), (0, False)]


def test_a_load_below_its_own_leaves_the_trace_as_it_is() -> None:
    case = case_of(make_pods([0.0, 1.0], [10.0, 10.0]), peak=20.0)
    assert (case.time_factor, case.peak_percent) == (1.0, 50.0)


def test_time_is_compressed_until_demand_peaks_as_wanted() -> None:
    """Pods that run for 10 s and come 10 s apart meet in pairs if they come twice as fast."""
    case = case_of(make_pods([0.0, 10.0, 20.0, 30.0], [10.0, 20.0, 30.0, 40.0]), peak=50.0)
    assert case.time_factor == pytest.approx(1.0, abs=0.01)
    assert case.peak_percent == 50.0
    case = case_of(make_pods([0.0, 10.0, 20.0, 30.0], [10.0, 20.0, 30.0, 40.0]), peak=100.0)
    assert case.time_factor == pytest.approx(3.0, rel=0.01)
    assert case.hours[-1] * HOUR == pytest.approx(30.0 / case.time_factor + 10.0)


def test_a_load_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(InputError, match="got the load 80 %, expected at most 50 for `own`"):
        case_of(make_pods([0.0, 1.0], [10.0, 10.0]), peak=80.0)


def test_a_list_without_times_is_refused() -> None:
    with pytest.raises(InputError, match="got the trace `own`, which has no creation and deletion times"):
        case_of(replace(make_pods([0.0], [1.0]), created=None))


def test_hours_and_watts_are_counted_by_hand() -> None:
    """Two pods, one after the other for an hour each; then two at once on one node for two hours, then the last."""
    created = [0.0, 1.0, 2.0, 2.0, 4.0]
    pods = make_pods([HOUR * at for at in created], [HOUR * at for at in (1.0, 2.0, 4.0, 4.0, 5.0)])
    case = case_of(pods)
    case = replace(case, window=(0.0, 4.0))
    row = churn_row(case, find_policy("gpu-packing"), play(case.batch, find_policy("gpu-packing")))
    node_hours, kwh, kwh_off = (row.measures[name].mean for name in ("node_hours", "kwh", "kwh_idle_off"))
    assert node_hours == pytest.approx(4.0)
    # A node idles at 2 GPUs of 10 W and 2 sockets of 15 W; a pod turns a GPU to 70 W and a socket to 120 W.
    idle = 2 * 10 + 2 * 15
    busy = 2 * (idle + 60 + 105) + 2 * (idle + 120 + 105)
    assert kwh_off == pytest.approx(busy / 1000)
    assert kwh == pytest.approx((busy + 4 * idle) / 1000)
    assert (row.hours, row.measures["pods_without_room"].mean) == (4.0, 0.0)


def test_pods_without_room_are_lost() -> None:
    pods = make_pods([0.0] * 5, [HOUR] * 4 + [2 * HOUR])
    case = case_of(pods)
    row = churn_row(case, find_policy("gpu-packing"), play(case.batch, find_policy("gpu-packing")))
    assert row.measures["pods_without_room"].mean == 1
    assert row.measures["gpu_hours_without_room"].mean == pytest.approx(2.0)


def test_a_row_as_json_says_how_time_was_compressed(small_batch: SeededRuns) -> None:
    problem = small_batch.problem
    case = with_departures(problem.nodes, {TRACE: problem.pods}, (42, 43), (95.0,))[0]
    row = churn_row(case, find_policy("random"), play(case.batch, find_policy("random"))).to_json()
    assert row["peak_percent"] == pytest.approx(95.0, abs=5.0)
    assert row["time_factor"] == round(case.time_factor, 2)
    assert row["kwh"] != row["kwh_idle_off"]
