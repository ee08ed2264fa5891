"""Both speeds are measured, and their ratio is theirs."""

import pytest

from evaluation.tables.small_trace import TRACE
from longshore.deciding.choosers import find_chooser
from longshore.evaluation.tables.runs import Batch
from longshore.evaluation.tables.speed import measure


def test_speeds_are_of_the_same_policy(small_batch: Batch) -> None:
    problem = small_batch.problem
    found = measure(TRACE, problem.nodes, problem.pods, (42, 43), find_chooser("gpu-packing"), 20)
    assert (found.trace, found.policy) == (TRACE, "gpu-packing")
    assert found.ratio == pytest.approx(found.pods_per_second / found.plain_pods_per_second)
    assert found.plain_pods_per_second > 0
