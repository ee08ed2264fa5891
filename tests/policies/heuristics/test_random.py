"""The random policy: by the seed alone, about uniform over nodes and over devices."""

import numpy as np

from longshore.core.arrays.choose import choose
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.policies.heuristics.random import POLICY
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


def at_step(arrays: ClusterArrays, step: int) -> ClusterArrays:
    return arrays._replace(state=arrays.state._replace(step=np.array(step, np.uint32)))


def cluster(seed: int) -> ClusterArrays:
    nodes = [make_node(name).gpu(4) for name in "abcd"]
    return encode(make_snapshot(*nodes, make_pod("p").gpu(1, 500), make_pod("q").gpu(2)), seed=seed).arrays


def chosen(arrays: ClusterArrays) -> int:
    return int(choose(arrays, POLICY.score(arrays, 0, arrays.nodes.is_real), arrays.nodes.is_real))


def test_nodes_are_drawn_about_equally_often() -> None:
    arrays = cluster(seed=1)
    counts = np.bincount([chosen(at_step(arrays, step)) for step in range(2000)], minlength=4)
    # Expected 500 each with a standard deviation of 19.
    assert counts.min() > 400
    assert counts.max() < 600


def test_the_seed_decides() -> None:
    choices = [[chosen(at_step(cluster(seed), step)) for step in range(20)] for seed in (1, 1, 2)]
    assert choices[0] == choices[1] != choices[2]


def test_a_share_goes_to_a_random_device_and_whole_devices_in_order() -> None:
    arrays = cluster(seed=1)
    taken = [POLICY.devices(at_step(arrays, step), 0)[0] for step in range(200)]
    assert np.bincount([int(row.argmax()) for row in taken], minlength=4).min() > 20
    assert all(row.sum() == 500 for row in taken)
    assert POLICY.devices(arrays, 1).tolist() == [[1000, 1000, 0, 0]] * 4
