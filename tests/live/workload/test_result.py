"""Tests of a live run's result: the shape of `longshore simulate`, and what is live about it."""

from longshore.evaluation.metrics import METRICS
from longshore.evaluation.series import simulate_trace
from longshore.live.workload.result import make_result
from support.live_run import LiveRun


def test_the_result_has_the_fields_of_a_simulation_and_live(live_run: LiveRun) -> None:
    result = make_result(live_run.observed, "test1", "default-scheduler", "el-rl", 0, 10.0)
    found = result.to_json()
    assert found.keys() == result.series.to_json().keys() | {"live"}
    assert found["policy"] == "default-scheduler"
    assert found["metrics"].keys() == METRICS.keys()  # type: ignore[attr-defined]
    assert found["live"]["created"] == 4  # type: ignore[index]
    assert found["live"]["never_bound"] == 0  # type: ignore[index]
    assert 0 <= result.waits.p50 <= result.waits.most < 5


def test_stock_kube_scheduler_spreads_as_kube_default_does(live_run: LiveRun) -> None:
    result = make_result(live_run.observed, "test1", "default-scheduler", "el-rl", 0, 10.0)
    simulated = simulate_trace("test1", live_run.trace, "kube-default")
    assert result.series.metrics["peak_nodes"] == simulated.metrics["peak_nodes"] == 3
    assert result.series.metrics["placements"] == simulated.metrics["placements"] == 4
