"""FGD's fragment of a node, case by case, and against a plain loop."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.fragmentation import cluster_fragment, node_fragment, offers, offers_after, potential
from longshore.core.arrays.gpu import Take, free_milli
from longshore.core.words.node import MAX_DEVICES
from longshore.core.words.pod import GpuRequest
from longshore.core.words.snapshot import TypicalPod
from objectives.clusters import node, transition

jax.config.update("jax_enable_x64", True)


def cluster(typical: list[TypicalPod], held: list[int], cpu_millis: int = 1000) -> ClusterArrays:
    """One T4 node of 1000 milli-CPU whose GPUs hold `held` milli, one node without GPUs, one padding row."""
    nodes = [node("a", cpu_millis, gpu_count=len(held), gpu_model="T4"), node("b")]
    arrays = transition(nodes, {}, "b", typical=tuple(typical), padded_nodes=3).before
    used = arrays.state.gpu_used.copy()
    used[0, : len(held)] = held
    return arrays._replace(state=arrays.state._replace(gpu_used=used))


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        pytest.param(TypicalPod(100, None, 1.0), 1400, id="wants no GPU: all that is free"),
        pytest.param(TypicalPod(100, GpuRequest(1, 500, ("A100",)), 1.0), 1400, id="wants another model: all"),
        pytest.param(TypicalPod(100, GpuRequest(1, 500, ("T4",)), 1.0), 400, id="fits: what is on fuller GPUs"),
        pytest.param(TypicalPod(100, GpuRequest(1, 400), 1.0), 0, id="fits on all that have any left"),
        pytest.param(TypicalPod(100, GpuRequest(1, 1000), 1.0), 400, id="one whole GPU fits"),
        pytest.param(TypicalPod(100, GpuRequest(2, 1000), 1.0), 1400, id="two whole GPUs do not: all"),
        pytest.param(TypicalPod(1001, GpuRequest(1, 400), 1.0), 1400, id="too little CPU: all"),
        pytest.param(TypicalPod(1000, GpuRequest(1, 400), 1.0), 0, id="just enough CPU"),
    ],
)
def test_fragment_by_case(kind: TypicalPod, want: float) -> None:
    # Free: 400, 1000 and 0 milli.
    assert list(node_fragment(cluster([kind], [600, 0, 1000]))) == [want, 0.0, 0.0]


def test_fragment_weighs_typical_pods_by_share() -> None:
    kinds = [TypicalPod(100, GpuRequest(1, 500), 0.7), TypicalPod(100, None, 0.3)]
    arrays = cluster(kinds, [600, 0])
    assert node_fragment(arrays)[0] == pytest.approx(0.7 * 400 + 0.3 * 1400, abs=1e-8)
    assert cluster_fragment(arrays) == node_fragment(arrays)[0]


@pytest.mark.parametrize("num_kinds", [1, 3, 1000])
def test_fragment_holds_for_as_many_devices_as_a_node_may_have(num_kinds: int) -> None:
    arrays = cluster([TypicalPod(100, None, 1 / num_kinds)] * num_kinds, [0] * MAX_DEVICES)
    want = pytest.approx(1000 * MAX_DEVICES, rel=1e-9)
    assert node_fragment(arrays)[0] == want
    assert np.asarray(jax.jit(node_fragment)(jax.tree.map(jax.numpy.asarray, arrays)))[0] == want


def test_fragment_is_zero_without_typical_pods() -> None:
    assert list(node_fragment(cluster([], [600, 0]))) == [0.0, 0.0, 0.0]


def test_fragment_answers_what_if_for_every_device_at_once() -> None:
    kinds = [TypicalPod(100, GpuRequest(1, 500), 0.5), TypicalPod(100, GpuRequest(2, 1000), 0.5)]
    arrays = cluster(kinds, [300, 0, 0])
    takes = 200 * np.eye(3, dtype=np.int64)
    free = free_milli(arrays)[None] - takes[:, None, :]
    cpu = arrays.nodes.allocatable[:, 0] - 100
    got = node_fragment(arrays, free_milli=free, free_cpu_millis=cpu)
    assert got.shape == (3, 3)
    for device in range(3):
        state = arrays.state._replace(gpu_used=arrays.state.gpu_used + takes[device])
        after = arrays._replace(state=state)
        assert got[device, 0] == node_fragment(after, free_cpu_millis=cpu)[0]


KINDS = st.builds(
    TypicalPod,
    st.integers(0, 1500),
    st.none() | st.tuples(st.integers(1, 3), st.sampled_from([1, 250, 500, 1000])).map(lambda both: GpuRequest(*both)),
    st.integers(1, 100).map(lambda percent: percent / 100),
)


@settings(max_examples=50)
@given(st.lists(KINDS, min_size=1, max_size=5), st.lists(st.integers(0, 1000), min_size=1, max_size=4))
def test_fragment_equals_the_plain_loop(kinds: list[TypicalPod], held: list[int]) -> None:
    free, expected = [1000 - milli for milli in held], 0.0
    for kind in kinds:
        gpu = kind.gpu
        fits = gpu and sum(left >= gpu.milli for left in free) >= gpu.count and kind.cpu_millis <= 1000
        expected += kind.share * (sum(left for left in free if left < gpu.milli) if gpu and fits else sum(free))
    assert node_fragment(cluster(kinds, held))[0] == pytest.approx(expected, abs=1e-7)


def test_fragment_under_jit_is_equal_to_the_last_bit() -> None:
    kinds = [TypicalPod(10 * i, GpuRequest(1, 30 * i), 1 / 30) for i in range(1, 30)] + [TypicalPod(5, None, 1 / 30)]
    arrays = cluster(kinds, [613, 0, 271, 999])
    compiled = jax.jit(node_fragment)(jax.tree.map(jax.numpy.asarray, arrays))
    assert np.array_equal(compiled, node_fragment(arrays))


@settings(max_examples=40)
@given(
    held=st.lists(st.sampled_from([0, 190, 500, 1000]), min_size=1, max_size=5),
    milli=st.sampled_from([100, 300, 500]),
)
def test_offers_after_a_placement_are_those_of_the_devices_that_it_leaves(held: list[int], milli: int) -> None:
    kinds = [TypicalPod(100, GpuRequest(1, 300), 0.6), TypicalPod(100, GpuRequest(2, 1000), 0.4)]
    arrays = cluster(kinds, held)
    free = free_milli(arrays)
    for device in np.flatnonzero(free[0] >= milli):
        after = free.copy()
        after[0, device] -= milli
        left = np.array([free[0, device], milli, milli])
        take = Take(left, np.asarray(milli), np.asarray(1))
        got = offers_after(arrays, offers(arrays), take)
        want = offers(arrays, after)
        for got_part, want_part in zip(got, want, strict=True):
            np.testing.assert_array_equal(got_part[..., 0], want_part[..., 0])


@pytest.mark.parametrize(
    ("kind", "cpu_millis", "want"),
    [
        pytest.param(TypicalPod(100, GpuRequest(1, 300), 1.0), 1000, 1 * 300 + 3 * 300, id="as many as can be cut"),
        pytest.param(TypicalPod(400, GpuRequest(1, 300), 1.0), 1000, 2 * 300, id="as many as the CPU is enough for"),
        pytest.param(TypicalPod(0, GpuRequest(1, 200), 1.0), 0, 2 * 200 + 5 * 200, id="none is asked of the CPU"),
        pytest.param(TypicalPod(100, GpuRequest(2, 1000), 1.0), 1000, 0, id="one whole GPU is too few"),
        pytest.param(TypicalPod(100, GpuRequest(1, 1000, ("A100",)), 1.0), 1000, 0, id="another model"),
    ],
)
def test_potential_counts_how_many_pods_still_fit(kind: TypicalPod, cpu_millis: int, want: float) -> None:
    # Free: 400, 1000 and 0 milli.
    arrays = cluster([kind], [600, 0, 1000])
    assert potential(arrays, offers(arrays), np.array([cpu_millis, 0, 0]))[0] == want
