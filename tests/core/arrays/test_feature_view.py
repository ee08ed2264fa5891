"""The amounts that features share: shares, pools and saturation at their edges."""

import numpy as np
import pytest

from longshore.core.arrays.feature_view import View
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


@pytest.fixture
def view() -> View:
    """Two nodes, one of them loaded, and one row of padding."""
    snapshot = make_snapshot(
        make_node("a").cpu("4").memory(0),
        make_node("b").cpu("8"),
        make_pod("p").cpu("1").memory("1Gi"),
        make_pod("q").cpu("2").on("b"),
    )
    encoded = encode(snapshot, padded_nodes=3)
    return View(encoded.arrays, np.asarray(0), np.array([True, True, False]))


def test_what_a_node_has_none_of_is_used_up_once_it_is_asked_for(view: View) -> None:
    assert view.memory_used.tolist() == [0, 0, 0]
    assert view.memory_after[:2] == pytest.approx([1, 1 / 16])
    assert view.cpu_after[:2] == pytest.approx([0.25, 3 / 8])


def test_shares_end_at_one(view: View) -> None:
    classes = view.arrays.classes
    huge = View(
        view.arrays._replace(classes=classes._replace(request=classes.request * 1000)), view.pod_class, view.feasible
    )
    assert huge.cpu_after[:2].tolist() == [1, 1]


def test_pools_leave_padding_out(view: View) -> None:
    values = np.array([1.0, 3.0, 100.0])
    assert view.mean(values) == 2
    assert view.most(values) == 3
    assert view.of_most(-values)[:2] == pytest.approx([-1 / 3, -1])
    assert view.of_most(np.zeros(3)).tolist() == [0, 0, 0]


def test_saturation_is_monotone_and_half_at_half(view: View) -> None:
    values = view.saturated(np.array([-5.0, 0.0, 25.0, 1e30]), 25.0)
    assert values.tolist() == [0, 0, 0.5, 1]


def test_a_reading_that_is_no_number_is_not_known(view: View) -> None:
    values, is_known = np.array([np.nan, np.inf, 3.0]), np.array([True, True, True])
    assert view.known(values, is_known).tolist() == [False, False, True]
    assert view.reading(values, is_known, 3.0).tolist() == [0, 0, 0.5]


def test_shared_amounts_are_worked_out_once(view: View) -> None:
    assert view.cpu_used is view.cpu_used


def test_a_later_view_keeps_what_depends_on_nodes_and_reads_the_rest_anew(view: View) -> None:
    state = view.arrays.state
    arrays = view.arrays._replace(state=state._replace(requested=state.requested * 2))
    later = view.later(arrays, view.pod_class, view.feasible)
    fresh = View(arrays, view.pod_class, view.feasible)
    assert later.largest is view.largest
    assert later.cpu_used.tolist() == fresh.cpu_used.tolist() != view.cpu_used.tolist()
    assert later.watts_after.tolist() == fresh.watts_after.tolist()


def test_watts_are_read_as_the_power_model_reads_them() -> None:
    curve = np.array([[10.0, 30.0, 90.0], [5.0, 5.0, 7.0], [1.0, 2.0, 4.0]])
    snapshot = make_snapshot(
        make_node("half").cpu("4"), make_node("full").cpu("2"), make_node("none").cpu(0), make_pod("p").cpu("2")
    )
    arrays = encode(snapshot).arrays
    view = View(arrays._replace(nodes=arrays.nodes._replace(power_curve=curve)), np.asarray(0), np.ones(3, bool))
    assert view.watts_now.tolist() == [10, 5, 1]
    assert view.watts_after.tolist() == [30, 7, 1]


def test_the_deviation_is_over_the_nodes_alone(view: View) -> None:
    assert view.deviation(np.array([1.0, 3.0, 100.0]), np.float64(2.0)) == 1


def test_a_domain_of_its_own_counts_what_is_on_the_node() -> None:
    snapshot = make_snapshot(*(make_node(name).label("rack", name).label("zone", "z") for name in "abc"))
    arrays = encode(snapshot).arrays
    domain = np.array([[2, 3, 4], [2, 2, 2], [0, 2, 3]], np.int32)
    view = View(arrays._replace(nodes=arrays.nodes._replace(domain=domain)), np.asarray(0), np.ones(3, bool))
    counts = np.array([5, 1, 2])
    assert [view._in_domain(counts, key).tolist() for key in range(3)] == [[5, 1, 2], [8, 8, 8], [0, 1, 2]]
