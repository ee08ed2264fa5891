"""FGD against a plain reading of its paper: score and device, over random clusters."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.words.pod import GpuRequest
from longshore.core.words.snapshot import TypicalPod
from longshore.filters import feasible
from longshore.policies.heuristics.fgd import POLICY
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode


def fragment(arrays: ClusterArrays, node: int, left: list[int], cpu_left: int) -> Fraction:
    tables = arrays.tables
    total = Fraction(float(tables.typical_rest[node])) * sum(left)
    for i in range(len(tables.typical_share)):
        milli, count = int(tables.typical_gpu_milli[i]), int(tables.typical_gpu_count[i])
        hosts = cpu_left >= tables.typical_cpu_millis[i] and sum(amount >= milli for amount in left) >= count
        unusable = sum(amount for amount in left if amount < milli) if hosts else sum(left)
        total += Fraction(float(tables.typical_share[i, node])) * unusable
    return total


def read_plainly(arrays: ClusterArrays, node: int, pod_class: int) -> tuple[int, list[int]]:
    """Return the score of a feasible node and what the pod takes from each device."""
    left = (arrays.nodes.gpu_capacity[node] - arrays.state.gpu_used[node]).tolist()
    cpu_left = int(arrays.nodes.allocatable[node, 0] - arrays.state.requested[node, 0])
    cpu_after = cpu_left - int(arrays.classes.request[pod_class, 0])
    milli, count = int(arrays.classes.gpu_milli[pod_class]), int(arrays.classes.gpu_count[pod_class])
    fitting = [device for device, amount in enumerate(left) if count and amount >= milli]
    tries = [[device] for device in fitting] if count == 1 and milli < 1000 else [fitting[:count]]
    best, best_taken = -1, [0] * len(left)
    for devices in tries:
        taken = [milli if device in devices else 0 for device in range(len(left))]
        after = [amount - gone for amount, gone in zip(left, taken, strict=True)]
        gain = fragment(arrays, node, left, cpu_left) - fragment(arrays, node, after, cpu_after)
        score = int(100 / (1 + math.exp(-float(gain) / 1000)))
        if score > best:
            best, best_taken = score, taken
    return best, best_taken


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_score_and_devices_agree_with_a_plain_reading(seed: int) -> None:
    arrays = encode(random_snapshot(seed), seed=seed).arrays
    for pod_class in range(len(arrays.classes.request)):
        mask = feasible(arrays, pod_class)
        scores, devices = POLICY.score(arrays, pod_class, mask), POLICY.devices(arrays, pod_class)
        for node in np.flatnonzero(mask):
            want_score, want_devices = read_plainly(arrays, int(node), pod_class)
            assert (int(scores[node]), devices[node].tolist()) == (want_score, want_devices)


def test_a_share_goes_where_it_leaves_the_least_unusable() -> None:
    # Typical pods want 600: on a device with 500 left all is unusable already, so the share costs nothing there. The
    # other node has only a free device, of which a share of 500 would make the rest unusable.
    typical = (TypicalPod(0, GpuRequest(1, 600), 1.0),)
    nodes = (make_node("a").gpu(1), make_node("b").gpu(2))
    there = make_pod("there").gpu(1, 500).on("b", (1,))
    encoded = encode(make_snapshot(*nodes, there, make_pod("p").gpu(1, 400), typical_pods=typical))
    # Gain on a: 0 - 0 = 0; on b: 500 - 100 = 400 on device 1, where the unusable rest shrinks.
    scores = POLICY.score(encoded.arrays, 1, encoded.arrays.nodes.is_real)
    assert scores.tolist() == [50, int(100 / (1 + math.exp(-0.4)))]
    assert POLICY.devices(encoded.arrays, 1).tolist() == [[400, 0], [0, 400]]


def test_equal_scores_take_the_first_device() -> None:
    typical = (TypicalPod(0, GpuRequest(1, 100), 1.0),)
    encoded = encode(make_snapshot(make_node("a").gpu(3), make_pod("p").gpu(1, 500), typical_pods=typical))
    assert POLICY.devices(encoded.arrays, 0).tolist() == [[500, 0, 0]]


def test_without_gpus_or_typical_pods_every_node_is_alike() -> None:
    arrays = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("p").cpu(100))).arrays
    assert POLICY.score(arrays, 0, arrays.nodes.is_real).tolist() == [50, 50]
    assert POLICY.devices(arrays, 0).shape == (2, 0)
