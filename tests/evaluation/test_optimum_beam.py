"""The beam against all placements."""

import numpy as np
import pytest

from evaluation.cases import Best, newest_first_trace, try_all
from longshore.core.words.errors import InputError
from longshore.evaluation.identical import HELD, MoveKind, make_identical
from longshore.evaluation.optimum_beam import best_found, best_found_without_table, placements_found
from longshore.evaluation.optimum_dp import make_table, optimum
from longshore.objectives.weighted import Weighted
from longshore.simulator.params import Compiled, compile_trace
from longshore.workloads.build import build_workload


def test_a_wide_beam_finds_the_optimum(
    rolling: list[Compiled],
    clearing: list[Compiled],
    best_rolling: list[Best],
    best_clearing: list[Best],
    objective: Weighted,
) -> None:
    for compiled, best in zip(rolling + clearing, best_rolling + best_clearing, strict=True):
        problem = make_identical(compiled, objective)
        table = make_table(problem)
        for metric in ("reward", *HELD):
            found = best_found(table, metric)
            assert found.value == pytest.approx(getattr(best, metric), rel=1e-12), metric
            assert found.is_exact and found.is_reached and found.method == "beam(4096)"
        alone = best_found_without_table(problem, "reward", width=10_000)
        assert alone.value == pytest.approx(best.reward, rel=1e-12) and alone.is_exact


def test_a_narrow_beam_is_never_above_the_optimum(
    rolling: list[Compiled], best_rolling: list[Best], objective: Weighted
) -> None:
    num_exact = 0
    for compiled, best in zip(rolling, best_rolling, strict=True):
        problem = make_identical(compiled, objective)
        found, alone = (
            best_found(make_table(problem), "reward", width=2),
            best_found_without_table(problem, "reward", width=2),
        )
        assert found.value <= best.reward + 1e-9 and alone.value <= best.reward + 1e-9
        # It may find the optimum and prove it, but it must not claim what is not so.
        assert not found.is_exact or found.value == pytest.approx(best.reward)
        assert not alone.is_exact
        num_exact += found.is_exact
    assert num_exact > 0


def test_where_the_relaxed_optimum_is_out_of_reach(objective: Weighted) -> None:
    compiled = compile_trace(newest_first_trace())
    table = make_table(make_identical(compiled, objective))
    best, limit = try_all(compiled, objective).reward, optimum(table, "reward").value
    assert limit > best + 0.1
    wide, narrow = best_found(table, "reward"), best_found(table, "reward", width=1)
    assert wide.value == pytest.approx(best, rel=1e-12) and wide.is_exact
    assert narrow.value <= best and not narrow.is_exact


def test_too_large_a_search_is_refused(objective: Weighted) -> None:
    trace = build_workload("test1", {"nodes": 900}).trace(0)
    with pytest.raises(InputError, match="at most 50000"):
        best_found_without_table(make_identical(compile_trace(trace), objective), "reward")


@pytest.mark.parametrize("has_table", [True, False])
def test_the_placements_found_earn_what_was_found(
    rolling: list[Compiled], best_rolling: list[Best], objective: Weighted, has_table: bool
) -> None:
    for compiled, best in zip(rolling, best_rolling, strict=True):
        problem = make_identical(compiled, objective)
        table = make_table(problem) if has_table else None
        nodes = placements_found(problem, table, len(compiled.pod_names), width=10_000)
        state, earned = np.zeros((1, problem.num_nodes), np.int64), 0.0
        for move in problem.moves:
            if move.kind == MoveKind.COME:
                earned += problem.facts(state, move.latency_ms).reward[0, nodes[move.pod]]
            state[0, nodes[move.pod]] += 1 if move.kind == MoveKind.COME else -1
        assert earned == pytest.approx(best.reward, rel=1e-12)
