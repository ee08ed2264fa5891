"""The lines above the tables, in words."""

import math
from dataclasses import replace

import pytest

from dashboard.top.boards import NOW, SCHEDULER, FakeFeed, node_change, pod_change
from longshore.dashboard.top import summary
from longshore.dashboard.top.feed import Status
from longshore.dashboard.top.model import Board


def words(pieces) -> str:
    return "".join(piece.text for piece in pieces)


def small_board() -> Board:
    board = Board()
    changes = [node_change("a"), node_change("b", unschedulable=()), pod_change("p", "a", cpu=8000), pod_change("q")]
    board.apply(changes, NOW, is_history=True)
    return board


def test_title_says_live_connecting_lost_and_paused():
    live = Status(server="https://h", is_synced=True)
    assert words(summary.title_line(live, is_paused=False)) == "longshore top   https://h   ● live"
    assert words(summary.title_line(live, is_paused=True)).endswith("‖ paused: p goes on")
    assert "● connecting" in words(summary.title_line(Status(), is_paused=False))
    assert "● lost" in words(summary.title_line(Status(is_synced=True, lost_since=1.0), is_paused=False))


def test_counts_name_what_is_not_ok():
    line = words(summary.count_line(small_board().totals(), [0] * 55 + [1, 0, 0, 0, 4], 150))
    assert line.startswith("2 nodes (1 not ok)   1 placed   1 wait")
    assert line.endswith(" 1.0 placed/s")


def test_room_is_that_of_the_whole_cluster():
    line = words(summary.room_line(small_board().totals(), 150))
    assert " 25%" in line
    assert "W" not in line


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_a_narrow_terminal(width: int):
    totals = small_board().totals()
    assert len(words(summary.room_line(replace(totals, watts=198_802.0), width))) <= 80
    many = replace(totals, num_nodes=5000, num_bound=50_000, num_waiting=1000)
    assert len(words(summary.count_line(many, [5] * 60, width))) <= 80


def test_scheduler_line_says_policy_state_and_speed():
    line = words(summary.scheduler_line(FakeFeed(scheduler=SCHEDULER).status))
    assert line.startswith("policy models/el-rl 3f2a91bc   leads   no fallbacks   ")
    assert "decides in ≤ 0.5 ms, 99 % in ≤ 2.5 ms" in line
    assert line.endswith("queues: 12 active, 3 backoff, 1 unschedulable")


def test_scheduler_line_names_fallbacks_and_a_standby():
    state = replace(SCHEDULER, fallbacks={"deadline": 3, "stale": 1}, is_leader=False, decision_p99_seconds=math.inf)
    line = words(summary.scheduler_line(Status(scheduler=state)))
    assert "stands by" in line
    assert "4 fallbacks (3 deadline, 1 stale)" in line
    assert "99 % in longer than every bucket" in line


def test_scheduler_line_is_empty_without_metrics():
    assert summary.scheduler_line(Status()) == []


def test_a_lost_server_is_said_first():
    status = Status(lost_since=NOW, has_answered=True, trouble="connection refused", log_trouble="no file")
    line = words(summary.trouble_line(status))
    assert "what you see was last seen then: connection refused" in line
    assert "no file" not in line


def test_trouble_of_other_sources_is_said_together():
    status = Status(metrics_trouble="cannot read metrics", readings_trouble="readings are old")
    assert words(summary.trouble_line(status)) == "cannot read metrics   readings are old"
    assert summary.trouble_line(Status()) == []


def test_why_there_is_nothing_to_see():
    synced = Status(is_synced=True)
    assert summary.empty_nodes_text(Status(), Board(), "") == "listing nodes and pods …"
    assert summary.empty_nodes_text(Status(lost_since=1.0), Board(), "") == "no answer from the API server yet"
    assert summary.empty_nodes_text(synced, Board(), "") == "this cluster has no nodes yet"
    assert "`zzz`" in summary.empty_nodes_text(synced, small_board(), "zzz")
    assert summary.empty_placements_text(synced, "") == "no pod was placed since you started looking"
    assert "`zzz`" in summary.empty_placements_text(synced, "zzz")
