"""No policy is better than a bound, whatever the trace."""

from collections import Counter

import pytest

from evaluation.cases import newest_first_trace
from longshore import policies
from longshore.evaluation.bounds import OVER_TIME, PEAKS, Bound, bound_trace, bound_traces, summarise
from longshore.evaluation.metrics import METRICS, make_runs, measure_all
from longshore.objectives.weighted import Weighted
from longshore.simulator.params import Compiled, compile_trace
from longshore.simulator.play import compile_traces, play

PLAYED = ("random", "first-fit", "kube-default", "low-power")


def test_no_policy_is_better(
    clearing: list[Compiled], rolling: list[Compiled], mixed: list[Compiled], objective: Weighted
) -> None:
    compiled = compile_traces([one.trace for one in clearing + rolling + mixed])
    heuristics = [policies.REGISTRY.load(name) for name in PLAYED]
    values = measure_all(make_runs(compiled, play(compiled, heuristics, objective)))
    num_checked: Counter[str] = Counter()
    for trace, bounds in enumerate(bound_traces(compiled, objective)):
        counts = values["pending"][:, trace] == 0
        for bound in bounds.values():
            if bound.value is None or (bound.is_reached and not bound.is_exact):
                continue
            num_checked[bound.metric] += int(counts.sum())
            reached = values[bound.metric][counts, trace]
            gap = bound.value - reached if METRICS[bound.metric].better == "more" else reached - bound.value
            assert (gap >= -1e-9 * max(1.0, abs(bound.value))).all(), bound
    assert set(num_checked) == {"reward", *OVER_TIME, *PEAKS}
    assert min(num_checked.values()) >= len(PLAYED) * 8, num_checked


def test_methods_fit_the_trace(
    clearing: list[Compiled], rolling: list[Compiled], mixed: list[Compiled], objective: Weighted
) -> None:
    together, one_by_one = bound_trace(clearing[0], objective), bound_trace(rolling[0], objective)
    several = bound_trace(mixed[0], objective)
    assert together["reward"].method == "dp" and together["active_nodes"].is_exact
    assert one_by_one["reward"].method == "beam(64)" and one_by_one["reward"].is_reached
    assert several["reward"].value is None and "different requests" in several["reward"].method
    assert several["active_nodes"].method == "bin packing"
    assert bound_trace(clearing[0])["reward"].method == "none: no objective was given"


def test_a_reward_that_is_not_proven_has_a_limit(rolling: list[Compiled], objective: Weighted) -> None:
    found = [bound_trace(one, objective, beam_width=1) for one in (rolling[0], compile_trace(newest_first_trace()))]
    assert ["reward_limit" in bounds for bounds in found] == [False, True]
    assert found[1]["reward_limit"].value > found[1]["reward"].value
    # Where the reward is proven, it is its own limit.
    mean = (found[0]["reward"].value + found[1]["reward_limit"].value) / 2
    assert summarise(found)["reward_limit"].value == pytest.approx(mean)


def test_progress_is_told(clearing: list[Compiled]) -> None:
    told: list[tuple[int, int]] = []
    found = bound_traces(clearing[:2], progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    assert all(isinstance(bound, Bound) for bounds in found for bound in bounds.values())
