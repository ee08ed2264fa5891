"""Rules about single nodes: what they find does not depend on the others, and the device is the best one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays, rows_of
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array
from longshore.filters import feasible
from longshore.policies import REGISTRY
from longshore.policies.heuristics.by_node import by_node
from support.builders import random_snapshot
from support.compiling import encode

RULES = [name for name in REGISTRY.table if REGISTRY.load(name).by_node is not None]


def test_the_gpu_policies_are_such_rules() -> None:
    assert {"dot-product", "gpu-best-fit", "gpu-clustering", "gpu-packing", "fgd", "fgd-u", "pwr"} <= set(RULES)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_facts_about_a_node_do_not_depend_on_the_others(name: str, seed: int) -> None:
    arrays = encode(random_snapshot(seed), seed=seed).arrays
    rule = REGISTRY.load(name).by_node
    for pod_class in range(len(arrays.classes.request)):
        facts = rule.look(arrays, np.asarray(pod_class))[0]
        for node in np.flatnonzero(feasible(arrays, pod_class)):
            alone = rows_of(arrays, np.array([node]))
            alone = alone._replace(state=alone.state._replace(counts=arrays.state.counts[:, [node]]))
            np.testing.assert_array_equal(rule.look(alone, np.asarray(pod_class))[0][:, 0], facts[:, node])


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_the_score_is_the_rank_of_the_facts(name: str, seed: int) -> None:
    arrays = encode(random_snapshot(seed), seed=seed).arrays
    heuristic = REGISTRY.load(name)
    for pod_class in range(len(arrays.classes.request)):
        mask = feasible(arrays, pod_class)
        facts = heuristic.by_node.look(arrays, np.asarray(pod_class))[0]
        want = heuristic.by_node.rank(facts, mask, arrays)
        np.testing.assert_array_equal(heuristic.score(arrays, np.asarray(pod_class), mask)[mask], want[mask])


def most_left(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    return take.left_after[None].astype(float)


def test_a_rule_that_picks_the_device_takes_the_first_of_the_best() -> None:
    arrays = encode(random_snapshot(3)).arrays
    shares = np.flatnonzero((arrays.classes.gpu_milli > 0) & (arrays.classes.gpu_milli < gpu.WHOLE_GPU_MILLI))
    assert len(shares)
    heuristic = by_node(most_left, picks_device=True)
    for pod_class in shares:
        free, milli = gpu.free_milli(arrays), int(arrays.classes.gpu_milli[pod_class])
        devices = heuristic.devices(arrays, np.asarray(pod_class))
        for node in np.flatnonzero(gpu.fits(arrays, pod_class)):
            assert np.flatnonzero(devices[node]).tolist() == [int(np.argmax(free[node]))]
            assert devices[node].sum() == milli
