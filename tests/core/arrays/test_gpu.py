"""GPU devices: which ones a pod would take."""

import tracemalloc
from typing import NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import best_fit, fits, free_milli, take_from_each, take_fullest, take_in_order, taken
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import assert_same_trees, to_jax

ONLY_CLASS = np.asarray(0)


def cluster(capacity: np.ndarray, used: np.ndarray, count: int, milli: int) -> ClusterArrays:
    """Return a cluster with these devices, and a class of pods that wants `count` of them; milli 0 = none."""
    nodes = [make_node(f"n{i}").gpu(capacity.shape[1]) for i in range(len(capacity))]
    pod = make_pod("p").gpu(count, milli) if milli else make_pod("p")
    arrays = encode(make_snapshot(*nodes, pod)).arrays
    return arrays._replace(
        nodes=arrays.nodes._replace(gpu_capacity=capacity), state=arrays.state._replace(gpu_used=used)
    )


class Case(NamedTuple):
    """What is left of a node's devices, and what a pod takes of them. None = there is no such device."""

    free: list[int | None]
    count: int
    milli: int
    want_taken: list[int]
    want_fits: bool = True


CASES = {
    "a share goes to the fullest device that fits": Case([1000, 400, 700], 1, 300, [0, 300, 0]),
    "an exact fit is the best fit": Case([310, 300, 1000], 1, 300, [0, 300, 0]),
    "devices that are too full are passed over": Case([200, 900, 1000], 1, 300, [0, 300, 0]),
    "the first of equals": Case([700, 700, 700], 1, 300, [300, 0, 0]),
    "whole devices are taken in order": Case([1000, 1000, 1000], 2, 1000, [1000, 1000, 0]),
    "whole devices must be free": Case([999, 1000, 1000], 2, 1000, [0, 1000, 1000]),
    "too few free devices": Case([999, 1000, 0], 2, 1000, [0, 1000, 0], want_fits=False),
    "no room for a share": Case([299, 299], 1, 300, [0, 0], want_fits=False),
    "devices that are not there": Case([None, None], 1, 300, [0, 0], want_fits=False),
    "one device that is there": Case([None, 500], 1, 300, [0, 300]),
    "a pod that wants none": Case([1000, 0], 0, 0, [0, 0]),
    "a pod that wants none, on a node without any": Case([None], 0, 0, [0]),
}


def cluster_of(case: Case) -> ClusterArrays:
    capacity = np.array([[0 if left is None else 1000 for left in case.free]])
    used = np.array([[0 if left is None else 1000 - left for left in case.free]])
    return cluster(capacity, used, case.count, case.milli)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_best_fit_takes_the_fullest_devices(case: Case) -> None:
    assert best_fit(cluster_of(case), ONLY_CLASS).tolist() == [case.want_taken]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fits_says_where_enough_is_left(case: Case) -> None:
    assert fits(cluster_of(case), ONLY_CLASS).tolist() == [case.want_fits]


def test_free_milli_is_capacity_less_use() -> None:
    arrays = cluster(np.array([[1000, 1000, 0]]), np.array([[250, 1000, 0]]), 1, 300)
    assert free_milli(arrays).tolist() == [[750, 0, 0]]


def test_take_in_order_follows_the_preference() -> None:
    preference, usable = np.array([[3, 1, 2, 0]]), np.array([[True, True, True, False]])
    assert take_in_order(preference, usable, np.int64(5), np.int64(2)).tolist() == [[0, 5, 5, 0]]


def test_take_in_order_prefers_the_first_of_equals() -> None:
    preference, usable = np.array([[7, 7, 7, 7]]), np.array([[False, True, True, True]])
    assert take_in_order(preference, usable, np.int64(5), np.int64(2)).tolist() == [[0, 5, 5, 0]]


@st.composite
def gpu_clusters(draw: st.DrawFn) -> ClusterArrays:
    shape = (3, 4)
    capacity = draw(arrays_of.arrays(np.int64, shape, elements=st.sampled_from([0, 1000])))
    used = np.minimum(
        draw(arrays_of.arrays(np.int64, shape, elements=st.sampled_from([0, 300, 700, 999, 1000]))), capacity
    )
    count, milli = draw(st.sampled_from([(1, 1), (1, 300), (1, 700), (1, 1000), (2, 1000), (4, 1000), (0, 0)]))
    return cluster(capacity, used, count, milli)


@given(gpu_clusters())
def test_best_fit_takes_exactly_what_is_asked_and_never_more_than_is_free(arrays: ClusterArrays) -> None:
    taken, can = best_fit(arrays, ONLY_CLASS), fits(arrays, ONLY_CLASS)
    milli, count = int(arrays.classes.gpu_milli[0]), int(arrays.classes.gpu_count[0])
    assert (taken <= free_milli(arrays)).all()
    assert set(np.unique(taken)) <= {0, milli}
    assert (taken.sum(axis=1)[can] == count * milli).all()
    assert (taken.sum(axis=1)[~can] < count * milli).all()


@given(gpu_clusters())
def test_best_fit_leaves_no_fuller_device_that_would_have_done(arrays: ClusterArrays) -> None:
    taken, free = best_fit(arrays, ONLY_CLASS) > 0, free_milli(arrays)
    milli = int(arrays.classes.gpu_milli[0])
    for node in np.flatnonzero(fits(arrays, ONLY_CLASS) & taken.any(axis=1)):
        left = free[node][~taken[node] & (arrays.nodes.gpu_capacity[node] > 0)]
        assert not ((left >= milli) & (left < free[node][taken[node]].max())).any()


compiled_gpu = jax.jit(lambda arrays, pod_class: (fits(arrays, pod_class), best_fit(arrays, pod_class)))


@settings(max_examples=40)
@given(gpu_clusters())
def test_gpu_functions_are_equal_under_jit(arrays: ClusterArrays) -> None:
    got = compiled_gpu(*to_jax((arrays, ONLY_CLASS)))
    assert_same_trees(got, (fits(arrays, ONLY_CLASS), best_fit(arrays, ONLY_CLASS)))


def test_take_in_order_ranks_as_sorting_does() -> None:
    rng = np.random.default_rng(3)
    preference, usable = rng.integers(0, 20, (50, 64)), rng.random((50, 64)) < 0.6
    got = take_in_order(preference, usable, np.int64(5), np.int64(9))
    for row in range(50):
        ranked = sorted(np.flatnonzero(usable[row]), key=lambda device, row=row: (preference[row, device], device))
        assert np.flatnonzero(got[row]).tolist() == sorted(ranked[:9])
    compiled = jax.jit(take_in_order)(*to_jax((preference, usable, np.int64(5), np.int64(9))))
    assert_same_trees(compiled, got)


def test_take_in_order_needs_no_table_of_pairs_of_devices() -> None:
    # 2000 nodes of 64 devices: a table of all pairs would take 65 MB as bytes alone.
    preference, usable = np.zeros((2000, 64), np.int64), np.ones((2000, 64), bool)
    tracemalloc.start()
    take_in_order(preference, usable, np.int64(5), np.int64(2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * preference.nbytes


def test_take_in_order_looks_at_nothing_for_a_pod_that_wants_none() -> None:
    taken = take_in_order(np.zeros((3, 2)), np.ones((3, 2), bool), np.int64(0), np.int64(0))
    assert (taken.tolist(), taken.dtype) == ([[0, 0]] * 3, np.int64)


@given(gpu_clusters())
def test_a_take_of_the_fullest_takes_what_best_fit_takes(arrays: ClusterArrays) -> None:
    can = fits(arrays, ONLY_CLASS)
    take = take_fullest(arrays, ONLY_CLASS)
    np.testing.assert_array_equal(taken(arrays, ONLY_CLASS, take)[can], best_fit(arrays, ONLY_CLASS)[can])
    assert (take.left_after >= 0).all()


def test_a_take_from_a_device_says_where_it_is_possible() -> None:
    arrays = cluster(np.array([[1000, 1000], [1000, 1000]]), np.array([[900, 0], [0, 900]]), 1, 300)
    take, is_possible = take_from_each(arrays, ONLY_CLASS)
    assert is_possible.tolist() == [[False, True], [True, False]]
    assert (take.left[0, 1], take.left[1, 0]) == (1000, 1000)
    first = take._replace(left=take.left[0])
    assert taken(arrays, ONLY_CLASS, first)[1].tolist() == [300, 0]


def test_a_take_of_whole_devices_is_the_same_whatever_the_device() -> None:
    arrays = cluster(np.array([[1000, 1000]]), np.array([[300, 0]]), 1, 1000)
    take, is_possible = take_from_each(arrays, ONLY_CLASS)
    assert is_possible.tolist() == [[True], [True]]
    assert taken(arrays, ONLY_CLASS, take._replace(left=take.left[0])).tolist() == [[0, 1000]]
