"""NodeResourcesFit's strategies: hand-computed values, and a plain reading of upstream's rules over random clusters."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.plugins import allocation
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode

Strategy = Callable[[ClusterArrays, Array], Array]


@pytest.mark.parametrize(
    ("strategy", "want_score"),
    [
        # CPU 1500 of 4000 = 37 % used, 62 % left; memory 3 GiB of 16 = 18 % used, 81 % left.
        pytest.param(allocation.least_allocated_score, 71, id="least allocated rounds every step down"),
        pytest.param(allocation.most_allocated_score, 27, id="most allocated rounds the mean down"),
        pytest.param(allocation.requested_to_capacity_ratio_score, 28, id="ratio rounds the mean half up"),
    ],
)
def test_strategies_add_the_pod_to_what_is_there(strategy: Strategy, want_score: int) -> None:
    there = make_pod("there").cpu(500).memory("1Gi").on("a")
    encoded = encode(make_snapshot(make_node("a"), there, make_pod("new").cpu(1000).memory("2Gi")))
    assert strategy(encoded.arrays, 1).tolist() == [want_score]


def test_pods_without_requests_count_with_upstreams_defaults() -> None:
    encoded = encode(make_snapshot(make_node("a").cpu(1000).memory("2000Mi"), make_pod("new")))
    assert allocation.most_allocated_score(encoded.arrays, 0).tolist() == [10]


def test_overcommitted_resources_score_as_full() -> None:
    snapshot = make_snapshot(make_node("a").cpu(100).memory("16Gi"), make_pod("new").cpu(200).memory("4Gi"))
    arrays = encode(snapshot).arrays
    assert allocation.least_allocated_score(arrays, 0).tolist() == [37]
    assert allocation.most_allocated_score(arrays, 0).tolist() == [62]
    assert allocation.requested_to_capacity_ratio_score(arrays, 0).tolist() == [63]


def test_ratio_leaves_out_resources_that_score_nothing() -> None:
    snapshot = make_snapshot(make_node("a").cpu(4000).memory("1Ti"), make_pod("new").cpu(1000).memory("1Gi"))
    arrays = encode(snapshot).arrays
    assert allocation.requested_to_capacity_ratio_score(arrays, 0).tolist() == [25]
    assert allocation.most_allocated_score(arrays, 0).tolist() == [12]


def test_resources_that_the_node_lacks_are_left_out() -> None:
    snapshot = make_snapshot(
        make_node("a").cpu(4000).memory(0), make_node("b").cpu(0).memory(0), make_pod("p").cpu(1000)
    )
    arrays = encode(snapshot).arrays
    assert allocation.least_allocated_score(arrays, 0).tolist() == [75, 0]
    assert allocation.most_allocated_score(arrays, 0).tolist() == [25, 0]
    assert allocation.requested_to_capacity_ratio_score(arrays, 0).tolist() == [25, 0]


def read_plainly(strategy: str, requested: list[int], allocatable: list[int]) -> int:
    total = weight = 0
    for have, all_of_it in zip(requested, allocatable, strict=True):
        if all_of_it == 0:
            continue
        fits = have <= all_of_it
        if strategy == "least":
            percent = (all_of_it - have) * 100 // all_of_it if fits else 0
        else:
            percent = have * 100 // all_of_it if fits else 100
        if strategy == "ratio" and percent == 0:
            continue
        total, weight = total + percent, weight + 1
    if weight == 0:
        return 0
    return int(total / weight + 0.5) if strategy == "ratio" else total // weight


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_strategies_agree_with_a_plain_reading(seed: int) -> None:
    arrays = encode(random_snapshot(seed)).arrays
    for pod_class in range(len(arrays.classes.request)):
        requested, allocatable = allocation.requested_and_allocatable(arrays, pod_class)
        rows = list(zip(requested.tolist(), allocatable.tolist(), strict=True))
        for strategy, score in (
            ("least", allocation.least_allocated_score),
            ("most", allocation.most_allocated_score),
            ("ratio", allocation.requested_to_capacity_ratio_score),
        ):
            assert score(arrays, pod_class).tolist() == [read_plainly(strategy, *row) for row in rows]
