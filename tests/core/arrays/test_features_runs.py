"""Features that lie side by side in a view's block are copied together."""

from longshore.core.arrays.feature_view import BLOCK
from longshore.core.arrays.features import chosen, runs_of


def test_what_stands_side_by_side_in_both_is_one_run() -> None:
    runs, rest = runs_of(enumerate(chosen(("cost", *BLOCK, "is_feasible"))))
    assert runs == [(slice(1, 1 + len(BLOCK)), slice(0, len(BLOCK)))]
    assert [(place, feature.name) for place, feature in rest] == [(0, "cost"), (1 + len(BLOCK), "is_feasible")]


def test_another_order_or_a_gap_ends_a_run() -> None:
    runs, rest = runs_of(enumerate(chosen(("node_memory_used", "node_cpu_used", "cost", "node_memory_free"))))
    assert runs == [(slice(0, 1), slice(1, 2)), (slice(1, 2), slice(0, 1)), (slice(3, 4), slice(4, 5))]
    assert [place for place, _ in rest] == [2]
