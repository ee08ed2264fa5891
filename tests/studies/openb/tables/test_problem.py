"""A trace as classes, kinds and events, and how several are brought to one size."""

import numpy as np

from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.problem import Problem, Sizes, side_by_side

NODES = Nodes(("a", "b"), np.array([8000, 4000]), np.array([1000, 2000]), np.array([2, 1]), ("T4", "P100"))


def make_pods(rows: list[tuple[int, int, int]], models: tuple[str, ...] = ()) -> Pods:
    """Rows are (cpu, GPUs, milli of each)."""
    cpu, count, milli = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    names = tuple(f"p{number}" for number in range(len(rows)))
    return Pods(names, cpu, np.full(len(rows), 64), count, milli, (models,) * len(rows), None, None)


PODS = make_pods([(2000, 1, 1000), (1000, 1, 300), (2000, 1, 1000), (500, 0, 0)])
OTHER = make_pods([(1000, 1, 450), (3000, 2, 1000), (1000, 1, 300)], ("T4",))


def test_classes_of_shares_come_first() -> None:
    problem = Problem(NODES, PODS)
    assert problem.shapes == [(300, 1, 1000), (0, 0, 500), (1000, 1, 2000)]
    assert problem.num_shares == 1
    assert problem.arrays.classes.gpu_milli.tolist() == [300, 0, 1000]


def test_problems_beside_each_other_have_the_same_classes() -> None:
    first, second = Problem(NODES, PODS, (PODS, OTHER)), Problem(NODES, OTHER, (PODS, OTHER))
    assert first.shapes == second.shapes
    assert (first.num_shares, len(first.shapes)) == (2, 5)


def test_nodes_stand_in_the_order_of_ties() -> None:
    filling = Problem(NODES, PODS).events(np.array([1, 0]), np.array([1, 0]), seed=9)
    assert filling.arrays.nodes.allocatable[:, 0].tolist() == [4000, 8000]
    assert filling.arrays.nodes.name_rank.tolist() == [0, 1]
    assert (filling.pod_class.tolist(), filling.arrays.state.seed) == ([0, 2], 9)


def test_models_say_which_nodes_are_allowed() -> None:
    filling = Problem(NODES, OTHER).events(np.arange(3), np.array([1, 0]))
    assert filling.allowed[filling.models].tolist() == [[False, True]] * 3


def test_memory_is_in_bytes_on_both_sides() -> None:
    filling = Problem(NODES, PODS).events(np.array([0]), np.array([0, 1]))
    assert filling.memory.tolist() == [64 << 20]
    assert filling.arrays.nodes.allocatable[:, 1].tolist() == [1000 << 20, 2000 << 20]


def test_shorter_runs_are_filled_up_with_pods_that_go_nowhere() -> None:
    problem, rank = Problem(NODES, PODS), np.array([0, 1])
    runs = [problem.events(np.array(order), rank) for order in ([0, 1, 2], [3])]
    stacked = side_by_side(runs, Sizes(events=4, kinds=6, model_sets=2))
    assert stacked.pod_class.shape == (2, 4)
    assert not stacked.allowed[1][stacked.models[1]][1:].any()
    assert stacked.allowed[1][stacked.models[1]][0].all()
    tables = stacked.arrays.tables
    assert tables.typical_cpu_millis.tolist() == [2000, 1000, 0, 0, 0, 0]
    assert tables.typical_share.shape == (2, 6, 2)
    np.testing.assert_array_equal(tables.typical_share[:, 2:], 0)


def test_tables_are_those_of_every_run() -> None:
    problem = Problem(NODES, OTHER)
    runs = [problem.events(np.arange(3), np.array(rank)) for rank in ([0, 1], [1, 0])]
    both = side_by_side(runs).arrays.tables
    for number, run in enumerate(runs):
        for name, together, alone in zip(both._fields, both, run.arrays.tables, strict=True):
            is_shared = np.ndim(together) == np.ndim(alone)
            np.testing.assert_array_equal(together if is_shared else together[number], alone, err_msg=name)
