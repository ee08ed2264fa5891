"""The mixed-integer program against all packings."""

import numpy as np
import pytest

from evaluation.cases import mixed_trace, random_packing, try_all_packings
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Trace
from longshore.evaluation.packing import make_packing
from longshore.evaluation.packing_bounds import bound_at_moments
from longshore.evaluation.packing_milp import Least, peak_bound, solve_packing
from longshore.evaluation.timeline import timeline
from longshore.simulator.params import compile_trace
from support.builders import make_node, make_pod

LEAST: tuple[Least, ...] = ("nodes", "watts_idle_on", "watts_idle_off")


@pytest.mark.parametrize("least", LEAST)
def test_equal_to_trying_all(least: Least) -> None:
    num_fitting = 0
    for seed in range(40):
        packing, counts = random_packing(seed)
        best, every = try_all_packings(packing, counts)[least], np.ones(3, bool)
        if best == np.inf:
            with pytest.raises(InputError, match="do not fit"):
                solve_packing(packing, counts, every, least)
            continue
        num_fitting += 1
        found = solve_packing(packing, counts, every, least)
        assert found.value == pytest.approx(best, abs=1e-4)
        assert found.bound == pytest.approx(best, abs=1e-4) and found.gap == 0.0 and found.method == "milp"
        relaxed = solve_packing(packing, counts, every, least, is_relaxed=True)
        assert relaxed.bound <= best + 1e-4 and relaxed.method == "lp"
    assert num_fitting > 15


@pytest.mark.parametrize("least", ["watts_idle_on", "watts_idle_off"])
def test_never_above_the_optimum_of_other_curves(least: Least) -> None:
    for seed in range(20):
        packing, counts = random_packing(seed, is_convex=False)
        best = try_all_packings(packing, counts)[least]
        if best < np.inf:
            assert solve_packing(packing, counts, np.ones(3, bool), least).bound <= best + 1e-4


def test_no_pods_need_nothing() -> None:
    packing, _ = random_packing(1)
    nothing, every = np.zeros(3, np.int64), np.ones(3, bool)
    assert solve_packing(packing, nothing, every).value == 0.0
    assert solve_packing(packing, nothing, every, "watts_idle_on").value == packing.power_curve[:, 0].sum()


def test_pods_that_ask_for_nothing_need_a_node() -> None:
    trace = Trace((make_node("n").build(),), (Create(0.0, make_pod("p").build()),), end=1.0)
    assert peak_bound(compile_trace(trace)).value == 1.0


def test_too_large_a_program_is_refused() -> None:
    packing, _ = random_packing(1)
    wide = packing._replace(
        allowed=np.ones((3, 70_000), bool),
        capacity=np.tile(packing.capacity[:1], (70_000, 1)),
        power_curve=np.tile(packing.power_curve[:1], (70_000, 1)),
    )
    with pytest.raises(InputError, match="at most 200000"):
        solve_packing(wide, np.ones(3, np.int64), np.ones(70_000, bool))


def test_the_peak_is_at_least_what_simple_bounds_say() -> None:
    for seed in range(5):
        compiled = compile_trace(mixed_trace(seed))
        simple = bound_at_moments(make_packing(compiled), timeline(compiled), "active_nodes")
        found = peak_bound(compiled)
        assert found.metric == "peak_nodes" and found.value is not None and found.value >= simple.max()
