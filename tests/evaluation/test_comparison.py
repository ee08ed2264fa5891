"""Policies side by side: what the thesis' test 1 must show, the JSON, and what is refused."""

import json

import numpy as np
import pytest

from evaluation.cases import mixed_trace
from longshore.core.words.errors import InputError
from longshore.evaluation import comparison
from longshore.evaluation.base import Bound
from longshore.evaluation.comparison import Comparison, Row, compare, compare_traces
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.series import Series, as_policy, simulate_trace
from longshore.simulator.params import compile_trace
from longshore.workloads.build import build_workload


def row(found: Comparison, policy: str) -> Row:
    return next(row for row in found.rows if row.policy == policy)


def test_rows_are_those_asked_for(test1: Comparison) -> None:
    assert [row.policy for row in test1.rows] == ["most-allocated", "energy-latency"]
    assert test1.workload == "test1" and test1.nodes == 3 and test1.seeds == (0, 1, 2)
    assert test1.parameters == {"cycles": 2} and test1.baseline == "kube-default"
    for one in test1.rows:
        assert list(one.metrics) == list(one.differences) == list(METRICS)
        assert one.decisions_per_second > 0
        for name, found in one.metrics.items():
            assert found.low <= found.mean <= found.high, name
            assert found.mean == pytest.approx(np.mean(one.values[name]))


def test_packing_reaches_the_bound_and_limits_are_kept(test1: Comparison) -> None:
    packed, aware = row(test1, "most-allocated"), row(test1, "energy-latency")
    assert packed.metrics["active_nodes"].mean == pytest.approx(test1.bounds["active_nodes"].value)
    assert aware.metrics["hard_violations"].mean == 0.0
    # The baseline, which is not asked for, breaks limits: less than it is less than nothing.
    assert aware.differences["hard_violations"].mean < 0.0
    assert packed.differences["active_nodes"].high < -1.0


def test_bounds_are_exact_and_not_passed(test1: Comparison) -> None:
    assert test1.bounds["reward"].method == "dp"
    for name in ("reward", "active_nodes", "watts", "watts_idle_off", "peak_nodes", "peak_watts_idle_off"):
        assert test1.bounds[name].is_exact, name
    for one in test1.rows:
        assert one.metrics["reward"].mean <= test1.bounds["reward"].value + 1e-9
        assert one.metrics["watts"].mean >= test1.bounds["watts"].value - 1e-9


def test_json_has_the_shape_that_is_promised(test1: Comparison) -> None:
    document = json.loads(json.dumps(test1.to_json(), allow_nan=False))
    assert document["schema"] == 1 and document["workload"] == "test1"
    promised = ("reward", "active_nodes", "cpu_variance", "latency_ms", "hard_violations", "watts", "unschedulable")
    for one in document["rows"]:
        assert set(promised) <= set(one["metrics"])
        assert all(set(found) == {"mean", "low", "high"} for found in one["metrics"].values())
        assert one["decisions_per_second"] > 0
    for name in ("active_nodes", "reward", "watts"):
        assert {"value", "method"} <= set(document["bounds"][name])


def test_progress_is_told(test1: Comparison, told: list[tuple[str, int, int]]) -> None:
    assert told[-1] == ("bounds", 3, 3)
    assert ("playing", 9, 9) in told and {what for what, _, _ in told} == {"playing", "bounds"}


def test_undefined_numbers_are_null() -> None:
    nothing = comparison.Interval(float("nan"), float("nan"), float("nan"))
    empty = Row("p", {"latency_ms": nothing}, {}, {}, 0.0)
    assert comparison._row_json(empty)["metrics"] == {"latency_ms": {"mean": None, "low": None, "high": None}}


def test_policies_teach_about_bounds() -> None:
    learn = comparison._with_policies
    limit = Bound("active_nodes", 2.0, "bin packing")
    assert learn(limit, np.array([3.0, 2.0])).is_exact
    assert learn(limit, np.array([3.0, 2.1])) == limit
    found = Bound("reward", 5.0, "beam(8)", is_reached=True)
    assert learn(found, np.array([4.0, 6.0])).value == 6.0
    assert learn(found, np.array([4.0, 6.0])).method == "beam(8), passed by a policy"
    assert learn(found, np.array([4.0])) == found
    exact = Bound("reward", 5.0, "dp", is_exact=True)
    assert learn(exact, np.array([9.0])) == exact


def test_traces_are_played_in_parts_that_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [compile_trace(mixed_trace(seed)) for seed in range(5)]
    assert comparison._batches(compiled, 8) == [[0, 1, 2, 3, 4]]
    # 14 events and pods: 42 steps at most, of 4 nodes, under 8 policies.
    monkeypatch.setattr(comparison, "_BATCH_BYTES", 2 * 8 * 42 * (128 + 16))
    assert comparison._batches(compiled, 8) == [[0, 1], [2, 3], [4]]
    monkeypatch.setattr(comparison, "_BATCH_BYTES", 1)
    assert comparison._batches(compiled, 8) == [[0], [1], [2], [3], [4]]


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(InputError, match="no policies"):
        compare("test1", [])
    with pytest.raises(InputError, match="`first-fit` twice"):
        compare("test1", ["first-fit", as_policy("first-fit")])
    with pytest.raises(InputError, match="0 seeds"):
        compare("test1", ["first-fit"], seeds=0)
    with pytest.raises(InputError, match="did you mean `kube-default`"):
        compare("test1", ["kube-defualt"])
    with pytest.raises(InputError, match="did you mean `pods`"):
        compare("test1", ["first-fit"], parameters={"pod": 3})


def test_runs_on_the_first_trace_come_with_a_comparison() -> None:
    series: list[Series] = []
    traces = [build_workload("test1", {"pods": 4, "cycles": 1}).trace(seed) for seed in range(2)]
    compare_traces("test1", traces, ["random", "energy-latency"], has_bounds=False, series=series)
    alone = simulate_trace("test1", traces[0], "energy-latency")
    assert [one.policy for one in series] == ["random", "energy-latency"]
    assert series[1].metrics == alone.metrics
    assert series[1].pods_per_node.tolist() == alone.pods_per_node.tolist()
