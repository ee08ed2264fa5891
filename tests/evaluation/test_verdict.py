"""Tests of what a comparison says in a sentence."""

import dataclasses

import numpy as np

from evaluation.test_report import make_comparison
from longshore.evaluation.base import Bound
from longshore.evaluation.comparison import Comparison, Row
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.statistics import Interval, interval, paired

SEEDS = np.arange(10.0)
BASELINE = 50.0 + SEEDS


def row(policy: str, rewards: np.ndarray, *, is_trained: bool = False, pending: float = 0.0) -> Row:
    """A policy with a reward of every seed; everything else is 10."""
    ten = Interval(10.0, 10.0, 10.0)
    return Row(
        policy=policy,
        metrics=dict.fromkeys(METRICS, ten) | {"reward": interval(rewards), "pending": Interval(pending, 0.0, pending)},
        differences={}
        if policy == "kube-default"
        else {"reward": interval(paired(rewards, BASELINE)), "watts_idle_off": Interval(-990.0, -999.0, -980.0)},
        values={"reward": tuple(rewards)},
        decisions_per_second=1.0,
        is_trained=is_trained,
    )


def compared(*rows: Row, bound: float | None = None) -> Comparison:
    bounds = {} if bound is None else {"reward": Bound("reward", bound, "dp", is_exact=True, is_reached=True)}
    return dataclasses.replace(make_comparison(), rows=(row("kube-default", BASELINE), *rows), bounds=bounds)


def test_a_trained_policy_stands_beside_the_baseline_and_the_best_plain_policy() -> None:
    found = compared(
        row("best-fit", BASELINE + 30.0), row("random", BASELINE + 1.0), row("mine", BASELINE + 40.0, is_trained=True)
    )
    (told,) = found.verdicts
    assert told == (
        "mine earns 94.5; 40 more than kube-default; 10 more than best-fit, the best plain policy; "
        "with idle nodes off 10 W, kube-default 1 kW"
    )


def test_a_trained_policy_that_is_worse_than_a_plain_one_is_told_so() -> None:
    found = compared(row("best-fit", BASELINE + 30.0), row("mine", BASELINE + 20.0, is_trained=True))
    assert "20 more than kube-default; 10 less than best-fit, the best plain policy" in found.verdicts[0]


def test_the_baseline_may_be_the_best_plain_policy() -> None:
    found = compared(row("mine", BASELINE + 20.0, is_trained=True))
    assert "20 more than kube-default (kube-default is the best plain policy);" in found.verdicts[0]


def test_without_a_trained_policy_the_best_one_is_told() -> None:
    found = compared(row("best-fit", BASELINE + 30.0), row("random", BASELINE))
    assert [one.split(" earns")[0] for one in found.verdicts] == ["best-fit, the best of these policies,"]


def test_every_trained_policy_has_a_sentence_the_best_first() -> None:
    found = compared(row("one", BASELINE, is_trained=True), row("two", BASELINE + 1.0, is_trained=True))
    assert [one.split()[0] for one in found.verdicts] == ["two", "one"]


def test_rounding_makes_no_policy_better() -> None:
    found = compared(row("best-fit", BASELINE + 2.4e-15), row("mine", BASELINE + 5e-15, is_trained=True))
    assert "the same as kube-default" in found.verdicts[0]
    assert "more than" not in found.verdicts[0]


def test_what_the_seeds_do_not_tell_apart_is_called_so() -> None:
    found = compared(row("mine", BASELINE + np.array([1.0, -1.2] * 5), is_trained=True))
    assert "not clearly different from kube-default (-0.1 [" in found.verdicts[0]


def test_the_share_of_the_optimum_is_told_where_no_pod_waits() -> None:
    assert (
        ", 75.6% of the optimum 125;" in compared(row("x", BASELINE + 40.0, is_trained=True), bound=125.0).verdicts[0]
    )
    waiting = row("x", BASELINE + 40.0, is_trained=True, pending=0.5)
    (told,) = compared(waiting, bound=125.0).verdicts
    assert "optimum" not in told
    assert told.endswith("it left pods waiting, which makes it look better than it is")


def test_of_one_seed_no_interval_is_told() -> None:
    one = dataclasses.replace(row("mine", BASELINE + 40.0, is_trained=True), values={"reward": (90.0,)})
    unknown = Interval(40.0, float("nan"), float("nan"))
    one = dataclasses.replace(one, differences={"reward": unknown})
    assert "; 40 more than kube-default" in compared(one).verdicts[0]
