"""Baselines: the twin and the compiled simulator give the same lines, and the plan's own heuristics are among them."""

import pytest

from longshore.training.run import baselines
from longshore.training.run.baselines import baseline_returns
from training.tiny import tiny_plan


def test_small_and_large_workloads_are_played_alike(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(baselines, "BASELINES", ("random", "energy-latency"))
    plan = tiny_plan(workload="test1", workload_config={"cycles": 1}, objective="el-rl")
    by_twin = baseline_returns(plan)
    monkeypatch.setattr(baselines, "_MOST_TWIN_DECISIONS", 0)
    assert baseline_returns(plan) == pytest.approx(by_twin)
    assert by_twin["energy-latency"] > by_twin["random"]


def test_the_heuristics_of_the_plan_are_among_them():
    found = baseline_returns(tiny_plan(prior="best-fit", guide="worst-fit"))
    assert {"kube-default", "random", "energy-latency", "best-fit", "worst-fit"} <= set(found)


def test_a_guide_that_is_no_policy_is_passed_over():
    assert set(baseline_returns(tiny_plan(guide="optimum"))) == set(baselines.BASELINES)
