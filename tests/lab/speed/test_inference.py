"""The inference benchmark: what it times is what it says; the figures themselves are not for a test."""

import numpy as np
import pytest

from longshore.core.network.bundle import check_bundle
from longshore.policies.learned import learned
from longshore.policies.row_cache import RowCache
from longshore_lab.speed import inference as inference_speed
from longshore_lab.speed.inference import measure, picked_features, random_bundle, there_and_back


def test_one_node_changes_between_two_decisions() -> None:
    moments = there_and_back(10)
    assert len(moments) > 2
    for before, after in zip(moments, (*moments[1:], moments[0]), strict=True):
        changed = (before.arrays.state.requested != after.arrays.state.requested).any(axis=1)
        assert changed.sum() == 1
        assert after.feasible.any()


@pytest.mark.parametrize("workload", inference_speed.WORKLOADS)
def test_both_ways_score_alike(workload: str) -> None:
    policy = random_bundle(picked_features(workload))
    check_bundle(policy)
    plain, cached = learned(policy), learned(policy, keeps_rows=True)
    assert isinstance(cached.score, RowCache)
    for moment in there_and_back(20):
        np.testing.assert_allclose(cached.score(*moment), plain.score(*moment), rtol=1e-5, atol=1e-5)


def test_measure_reports_all_times() -> None:
    cell = measure(10, "test1", repeats=10, series=2)
    assert (cell.nodes, cell.features, cell.network) == (10, len(picked_features("test1")), "deepsets-32")
    for value in (cell.median_us, cell.cached_median_us, cell.filters_median_us):
        assert value > 0
    assert cell.p99_us >= cell.median_us
    assert cell.cached_p99_us >= cell.cached_median_us
    assert cell.ratio == pytest.approx(cell.cached_median_us / cell.median_us)


def test_blas_is_named() -> None:
    assert "calling thread" in inference_speed.blas_name()
