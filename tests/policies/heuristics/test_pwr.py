"""PWR by hand: the fewest added watts from 100 down to 0, and the mixes with FGD."""

import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.policies.heuristics import fgd, pwr
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode

EVERY = np.ones(3, bool)


def cluster() -> ClusterArrays:
    """A pod that wants a GPU and 1 CPU: it adds 60 W on a T4, 120 W on a G2, 350 W on a G3, and a socket on each."""
    nodes = [make_node(name).cpu(64_000).gpu(2, model) for name, model in (("a", "G3"), ("b", "T4"), ("c", "G2"))]
    return encode(make_snapshot(*nodes, make_pod("p").cpu(1000).gpu(1, 1000))).arrays


def test_fewer_added_watts_score_higher_in_whole_numbers() -> None:
    # (350 - added) / (350 - 60) of 100, cut to whole numbers; times the weight of 1000.
    assert pwr.POLICY.score(cluster(), np.asarray(0), EVERY).tolist() == [0, 100_000, 79_000]


def test_the_scale_is_between_feasible_nodes() -> None:
    feasible = np.array([True, False, True])
    scores = pwr.POLICY.score(cluster(), np.asarray(0), feasible)
    assert scores[feasible].tolist() == [0, 100_000]


def test_equal_watts_score_nothing() -> None:
    nodes = [make_node(name).gpu(2, "T4") for name in "abc"]
    arrays = encode(make_snapshot(*nodes, make_pod("p").gpu(1, 1000))).arrays
    assert pwr.POLICY.score(arrays, np.asarray(0), EVERY).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("heuristic", "of_watts"), [(pwr.HALF, 500), (pwr.FIFTH, 200)])
def test_a_mix_is_the_weighted_sum(heuristic: pwr.Policy, of_watts: int) -> None:
    arrays = cluster()
    of_fgd = fgd.POLICY.score(arrays, np.asarray(0), EVERY)
    want = of_watts * np.array([0, 100, 79]) + (1000 - of_watts) * of_fgd
    assert heuristic.score(arrays, np.asarray(0), EVERY).tolist() == want.tolist()


def test_a_share_goes_to_the_device_that_fgd_takes() -> None:
    nodes = [make_node(name).gpu(2, "T4") for name in "abc"]
    arrays = encode(make_snapshot(*nodes, make_pod("p").gpu(1, 300), make_pod("q").gpu(1, 700).on("a"))).arrays
    for pod_class in range(2):
        want = fgd.POLICY.devices(arrays, np.asarray(pod_class))
        np.testing.assert_array_equal(pwr.POLICY.devices(arrays, np.asarray(pod_class)), want)
