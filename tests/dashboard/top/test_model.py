"""The board: sums that follow every change, placements as they happen, rows in order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.top.boards import NOW, decision, gone, node_change, pod_change
from longshore.core.words.node import NodeReadings
from longshore.dashboard.top.model import KEPT_EVENTS, Board, EventKind, SortKey
from longshore.kube.cache import NodeChange, PodChange

GIB = 1024**3


def board(*changes, is_history: bool = True) -> Board:
    made = Board()
    made.apply(changes, NOW, is_history=is_history)
    return made


def test_a_node_shows_what_it_has_and_what_its_pods_ask_for():
    row = board(node_change("a"), pod_change("p", "a", cpu=1500), pod_change("q", "a", memory="2Gi")).nodes()[0]
    assert (row.used_cpu_millis, row.cpu_millis) == (2500, 16000)
    assert (row.used_memory_bytes, row.memory_bytes) == (3 * GIB, 64 * GIB)
    assert (row.num_pods, row.max_pods) == (2, 110)


def test_a_pod_that_is_gone_gives_its_room_back():
    pod = pod_change("p", "a")
    made = board(node_change("a"), pod)
    made.apply([gone(pod)], NOW, is_history=False)
    row = made.nodes()[0]
    assert (row.used_cpu_millis, row.used_memory_bytes, row.num_pods) == (0, 0, 0)


def test_a_pod_that_changes_counts_once():
    made = board(node_change("a"), pod_change("p", "a", cpu=1000), pod_change("p", "a", cpu=3000))
    assert made.nodes()[0].used_cpu_millis == 3000


def test_pods_may_come_before_their_node_and_stay_after_it():
    made = board(pod_change("p", "a"))
    assert made.nodes() == []
    made.apply([node_change("a")], NOW, is_history=True)
    assert made.nodes()[0].num_pods == 1
    made.apply([NodeChange("a", None)], NOW, is_history=False)
    assert made.nodes() == []
    made.apply([node_change("a")], NOW, is_history=False)
    assert made.nodes()[0].num_pods == 1


@pytest.mark.parametrize(
    ("change", "want"),
    [
        (node_change("a"), "ok"),
        (node_change("a", unschedulable=()), "cordoned"),
        (node_change("a", taint=("node.kubernetes.io/not-ready",)), "not ready"),
        (node_change("a", taint=("example.com/mine",)), "ok"),
        (NodeChange("a", None, "Node `a`: field `x`: bad"), "unreadable"),
    ],
    ids=["ok", "cordoned", "not ready", "a taint of one's own", "unreadable"],
)
def test_state_of_a_node(change: NodeChange, want: str):
    assert board(change).nodes()[0].state == want


def test_what_was_bound_before_is_no_placement():
    assert board(node_change("a"), pod_change("p", "a"), is_history=True).placements() == []


def test_placements_are_shown_newest_first():
    made = board(node_change("a"), pod_change("p"), pod_change("q"))
    made.apply([pod_change("p", "a")], NOW + 1, is_history=False)
    made.apply([pod_change("q", "a")], NOW + 2, is_history=False)
    assert [(e.kind, e.pod, e.node) for e in made.placements()] == [
        (EventKind.PLACED, "default/q", "a"),
        (EventKind.PLACED, "default/p", "a"),
    ]


def test_a_bound_pod_that_changes_is_not_placed_again():
    made = board(node_change("a"))
    for phase in ("Pending", "Running"):
        made.apply([pod_change("p", "a", phase=phase)], NOW, is_history=False)
    assert len(made.placements()) == 1


def test_a_waiting_pod_is_shown_once_for_each_reason():
    made = board()
    for reason in ("", "0/3 nodes: cpu", "0/3 nodes: cpu", "0/3 nodes: memory"):
        made.apply([pod_change("p", waits=reason)], NOW, is_history=False)
    assert [event.message for event in made.placements()] == ["0/3 nodes: memory", "0/3 nodes: cpu"]
    assert made.waiting == {"default/p": "0/3 nodes: memory"}


def test_a_waiting_pod_that_is_deleted_no_longer_waits():
    pod = pod_change("p")
    made = board(pod)
    made.apply([gone(pod)], NOW, is_history=False)
    assert made.totals().num_waiting == 0
    assert made.placements()[0].kind is EventKind.GONE


def test_a_pod_that_cannot_be_read_is_counted_and_holds_its_place():
    broken = PodChange("default/p", "default", "p", "u", None, "Pod `default/p`: bad", bound_to="a")
    totals = board(node_change("a"), broken).totals()
    assert (totals.num_unreadable, totals.num_bound) == (1, 1)


def test_decisions_are_put_beside_their_placements():
    made = board(node_change("a"), pod_change("p"))
    made.apply([pod_change("p", "a"), pod_change("q", waits="full")], NOW, is_history=False)
    made.add_decisions([decision("p", "a"), decision("q", None, pending_reason="0/1 nodes are available.")])
    waiting, placed = made.placements()
    assert placed.decision is not None
    assert placed.decision.score == 0.75
    assert waiting.message == "0/1 nodes are available."


def test_a_decision_about_another_node_or_pod_is_not_shown():
    made = board(node_change("a"))
    made.apply([pod_change("p", "a")], NOW, is_history=False)
    made.add_decisions([decision("p", "b"), decision("p", "a", pod_uid="another")])
    assert made.placements()[0].decision is None


def test_a_sources_readings_go_before_the_nodes_own():
    made = board(node_change("a", readings=()))
    made.apply(
        [NodeChange("a", node_change("a").node.__class__("a", readings=NodeReadings(latency_ms=9.0, watts=5.0)))],
        NOW,
        is_history=True,
    )
    made.put_readings({"a": NodeReadings(latency_ms=3.0)})
    assert made.nodes()[0].readings == NodeReadings(latency_ms=3.0, watts=5.0)
    made.put_readings({"a": NodeReadings()})
    assert made.nodes()[0].readings.latency_ms == 9.0


def test_readings_may_come_before_their_node():
    made = Board()
    made.put_readings({"a": NodeReadings(watts=7.0)})
    made.apply([node_change("a")], NOW, is_history=True)
    assert made.nodes()[0].readings.watts == 7.0


def names(made: Board, sort: SortKey, **arguments) -> list[str]:
    return [row.name for row in made.nodes(sort, **arguments)]


def test_figures_are_sorted_from_the_highest_and_unknown_ones_last():
    made = board(node_change("a"), node_change("b"), node_change("c"))
    made.put_readings({"a": NodeReadings(latency_ms=1.0), "c": NodeReadings(latency_ms=5.0)})
    assert names(made, SortKey.LATENCY) == ["c", "a", "b"]
    assert names(made, SortKey.LATENCY, is_reversed=True) == ["a", "c", "b"]


def test_names_are_sorted_from_a():
    made = board(node_change("b"), node_change("a"))
    assert names(made, SortKey.NAME) == ["a", "b"]
    assert names(made, SortKey.NAME, is_reversed=True) == ["b", "a"]


def test_filter_is_part_of_a_name_in_any_case():
    made = board(node_change("west-1"), node_change("east-1"))
    made.apply([pod_change("p", "west-1"), pod_change("q", "east-1")], NOW, is_history=False)
    assert names(made, SortKey.NAME, text="WEST") == ["west-1"]
    assert [event.pod for event in made.placements("West")] == ["default/p"]


def test_totals_are_over_the_nodes_that_are_there():
    totals = board(node_change("a"), node_change("b", unschedulable=()), pod_change("p", "a", cpu=8000)).totals()
    assert (totals.num_nodes, totals.num_troubled, totals.num_bound) == (2, 1, 1)
    assert totals.cpu_ratio == 0.25
    assert totals.watts is None


def test_rate_counts_the_last_minute_by_seconds():
    made = board(node_change("a"))
    for number, second in enumerate((0, 58.5, 59.5, 59.6)):
        made.apply([pod_change(f"p{number}", "a")], NOW + second, is_history=False)
    assert made.rate(NOW + 60)[-2:] == [1, 2]
    assert sum(made.rate(NOW + 100)) == 3
    assert sum(made.rate(NOW + 1000)) == 0


def test_only_the_newest_placements_are_kept():
    made = board(node_change("a"))
    made.apply([pod_change(f"p{number}", "a") for number in range(KEPT_EVENTS + 5)], NOW, is_history=False)
    assert len(made.placements()) == KEPT_EVENTS


STEPS = st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from(["a", "b", "", "gone"]), st.integers(0, 4)))


@settings(max_examples=100)
@given(steps=STEPS)
def test_sums_are_those_of_the_pods_that_are_left(steps):
    made, left = board(node_change("a"), node_change("b")), {}
    for name, node, cores in steps:
        change = pod_change(name, "" if node == "gone" else node, cpu=cores * 1000)
        made.apply([gone(change) if node == "gone" else change], NOW, is_history=False)
        left[name] = (node, cores * 1000)
    for row in made.nodes():
        own = [cpu for node, cpu in left.values() if node == row.name]
        assert (row.num_pods, row.used_cpu_millis) == (len(own), sum(own))
    assert made.totals().num_waiting == sum(node == "" for node, _ in left.values())
