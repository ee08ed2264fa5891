"""Dynamic programming against all placements."""

import numpy as np
import pytest

from evaluation.cases import Best, small_pod, try_all
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Trace
from longshore.evaluation.identical import MoveKind, make_identical
from longshore.evaluation.optimum_dp import best_placements, make_table, optimum, state_keys, states_of_keys
from longshore.filters import filter_set
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.simulator.params import Compiled, compile_trace
from support.builders import make_node

METRICS = ("reward", "active_nodes", "watts", "watts_idle_off")


def test_equal_to_trying_all_where_pods_leave_together(
    clearing: list[Compiled], best_clearing: list[Best], objective: Weighted
) -> None:
    for compiled, best in zip(clearing, best_clearing, strict=True):
        table = make_table(make_identical(compiled, objective))
        for metric in METRICS:
            bound = optimum(table, metric)
            assert bound.value == pytest.approx(getattr(best, metric), rel=1e-12), metric
            assert bound.is_exact and bound.method == "dp"


def test_never_worse_than_trying_all_where_pods_leave_one_by_one(
    rolling: list[Compiled], best_rolling: list[Best], objective: Weighted
) -> None:
    for compiled, best in zip(rolling, best_rolling, strict=True):
        table = make_table(make_identical(compiled, objective))
        assert optimum(table, "reward").value >= best.reward - 1e-9
        for metric in METRICS[1:]:
            bound = optimum(table, metric)
            assert bound.value <= getattr(best, metric) + 1e-9
            assert not bound.is_exact and not bound.is_reached


@pytest.mark.parametrize("name", ["ee", "watts"])
def test_the_thesis_objectives(clearing: list[Compiled], name: str) -> None:
    objective = parse_objective(name)
    bound = optimum(make_table(make_identical(clearing[0], objective)), "reward")
    assert bound.value == pytest.approx(try_all(clearing[0], objective).reward, rel=1e-12)


def test_a_hard_limit_can_only_cost(clearing: list[Compiled], objective: Weighted) -> None:
    strict = make_identical(clearing[3], objective, filter_set("upstream+latency"))
    free = make_identical(clearing[3], objective)
    assert optimum(make_table(strict), "reward").value <= optimum(make_table(free), "reward").value


def test_alike_nodes_have_few_states(objective: Weighted) -> None:
    nodes = tuple(make_node(f"n{i}").readings(latency_ms=10.0).build() for i in range(6))
    trace = Trace(nodes, tuple(Create(float(i), small_pod(f"p{i}")) for i in range(8)), end=8.0)
    table = make_table(make_identical(compile_trace(trace), objective))
    # Ways to write 8 as a sum of at most 6 numbers; told apart there would be 1,287.
    assert len(table.layers[-1].states) == 20
    assert optimum(table, "active_nodes").value == pytest.approx(1.0)


def test_too_many_states_and_waiting_pods_are_refused(clearing: list[Compiled]) -> None:
    with pytest.raises(InputError, match="more than 5 states"):
        make_table(make_identical(clearing[0], None), most_states=5)
    full = Trace((make_node("n").cpu(600).build(),), tuple(Create(0.0, small_pod(name)) for name in ("p", "q")))
    with pytest.raises(InputError, match="have to wait"):
        make_table(make_identical(compile_trace(full), None))


def test_keys_and_back() -> None:
    states = np.array([[0, 300, 2], [1, 0, 65535], [0, 0, 0]])
    keys = state_keys(states)
    assert len(np.unique(keys)) == 3
    np.testing.assert_array_equal(states_of_keys(keys, 3), states)
    np.testing.assert_array_equal(np.sort(keys)[np.searchsorted(np.sort(keys), keys)], keys)


def test_the_best_placements_reach_the_optimum_state_by_state(clearing: list[Compiled], objective: Weighted) -> None:
    for compiled in clearing:
        table = make_table(make_identical(compiled, objective))
        problem = table.problem
        nodes = best_placements(table, len(compiled.pod_names) + 2)
        assert (nodes[-2:] == -1).all()
        state, earned = np.zeros((1, problem.num_nodes), np.int64), 0.0
        for move in problem.moves:
            if move.kind == MoveKind.CLEAR:
                state[:] = 0
                continue
            facts = problem.facts(state, move.latency_ms)
            assert facts.is_feasible[0, nodes[move.pod]]
            earned += facts.reward[0, nodes[move.pod]]
            state[0, nodes[move.pod]] += 1
        assert earned == pytest.approx(optimum(table, "reward").value, rel=1e-12)


def test_placements_are_found_among_nodes_that_are_alike(objective: Weighted) -> None:
    nodes = tuple(make_node(f"n{i}").cpu("1").readings(latency_ms=10.0).build() for i in range(3))
    trace = Trace(nodes, tuple(Create(float(i), small_pod(f"p{i}")) for i in range(5)), end=8.0)
    found = best_placements(make_table(make_identical(compile_trace(trace), objective)), 5)
    # Two fit on a node; the third is on another, whichever.
    assert sorted(np.bincount(found, minlength=3).tolist()) == [1, 2, 2]


def test_placements_of_pods_that_leave_one_by_one_are_refused(rolling: list[Compiled], objective: Weighted) -> None:
    with pytest.raises(InputError, match="leave one by one"):
        best_placements(make_table(make_identical(rolling[0], objective)), 9)
