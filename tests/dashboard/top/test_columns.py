"""Columns: what fits into a width is whole, and every line is as wide as the screen."""

import pytest

from dashboard.top.boards import NOW, decision
from longshore.core.words.node import NodeReadings
from longshore.dashboard.top.columns import NodeTable, PlacementTable
from longshore.dashboard.top.model import EventKind, NodeRow, PlacementEvent, SortKey

ROW = NodeRow(
    "worker-1",
    16000,
    64 * 1024**3,
    110,
    8000,
    16 * 1024**3,
    12,
    NodeReadings(latency_ms=12.34, watts=180.0, cpu_ratio=0.4),
    "ok",
)


def table(name_width: int = 12) -> NodeTable:
    made = NodeTable(id="nodes")
    made.shows = frozenset({SortKey.LATENCY, SortKey.WATTS})
    made.shows_load, made.name_width = True, name_width
    return made


def words(pieces) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 240])
def test_columns_fit_the_width(width: int):
    made = table()
    assert len(words(made.header(width))) <= width
    assert len(words(made.line(ROW, width))) <= width


@pytest.mark.parametrize(
    ("width", "want"),
    [
        (60, ["NODE", "CPU", "MEMORY", "PODS"]),
        (80, ["NODE", "CPU", "MEMORY", "PODS", "LATENCY", "WATTS", "LOAD"]),
        (160, ["NODE", "CPU", "MEMORY", "PODS", "LATENCY", "WATTS", "LOAD", "STATE"]),
    ],
)
def test_readings_and_state_come_with_width(width: int, want: list[str]):
    assert [column.title for column in table().columns(width)] == want


def test_readings_that_nobody_has_get_no_column():
    made = NodeTable(id="nodes")
    assert [column.title for column in made.columns(160)] == ["NODE", "CPU", "MEMORY", "PODS", "STATE"]


def test_a_node_shows_its_figures():
    line = words(table().line(ROW, 160))
    for text in ("worker-1", " 50%", "8/16", " 25%", "16Gi/64Gi", "12/110", "12.3 ms", "180 W", " 40%", "ok"):
        assert text in line


def test_an_unknown_reading_is_a_dot():
    line = words(table().line(NodeRow("a", state="ok"), 160))
    assert line.count("·") == 3


@pytest.mark.parametrize(
    ("sort", "is_reversed", "want"),
    [
        (SortKey.NAME, False, "NODE ▲"),
        (SortKey.NAME, True, "NODE ▼"),
        (SortKey.CPU, False, "CPU ▼"),
        (SortKey.CPU, True, "CPU ▲"),
    ],
)
def test_the_sorted_column_bears_an_arrow(sort: SortKey, is_reversed: bool, want: str):
    made = table()
    made.sort, made.is_reversed = sort, is_reversed
    assert want in words(made.header(160))


def placed(**fields) -> PlacementEvent:
    return PlacementEvent(NOW, EventKind.PLACED, "default/api-1", "u", "worker-1", "longshore", **fields)


def line(event: PlacementEvent, width: int = 160) -> str:
    return words(PlacementTable(id="placements").line(event, width))


def test_a_placement_without_a_log_names_its_scheduler():
    assert "default/api-1" in line(placed())
    assert "→ worker-1" in line(placed())
    assert "by longshore" in line(placed())


def test_a_placement_with_its_decision_says_why():
    record = decision("api-1", "worker-1", runner_up="worker-2", candidates=(("worker-1", 0.75), ("worker-2", 0.5)))
    assert "score 0.75  then worker-2 0.5  998/1,000 fit  0.6 ms  el-rl" in line(placed(decision=record))


def test_a_fallback_and_a_failed_binding_are_said():
    fallback = decision("api-1", "worker-1", fallback_reason="deadline")
    assert "fallback (deadline)" in line(placed(decision=fallback))
    failed = decision("api-1", "worker-1", outcome="bind-error", outcome_message="the pod is gone")
    assert "binding failed: the pod is gone" in line(placed(decision=failed))


def test_a_waiting_pod_says_why():
    event = PlacementEvent(NOW, EventKind.WAITS, "default/big", message="0/3 nodes are available: 3 Insufficient cpu.")
    assert "… waits  0/3 nodes are available: 3 Insufficient cpu." in line(event)


def test_a_deleted_pod_is_said():
    assert "deleted while it waited" in line(PlacementEvent(NOW, EventKind.GONE, "default/p"))


@pytest.mark.parametrize("width", [60, 80, 120, 240])
def test_placements_fit_the_width(width: int):
    record = decision("api-1", "worker-1", runner_up="worker-2")
    message = "m" * 500
    for event in (placed(decision=record), placed(), PlacementEvent(NOW, EventKind.WAITS, "p" * 99, message=message)):
        assert len(line(event, width)) == width
    assert len(words(PlacementTable(id="p").header(width))) <= width
