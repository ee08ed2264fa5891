"""Both speeds are measured, and their ratio is theirs."""

import pytest

from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.runs import SeededRuns
from longshore_studies.openb.tables.speed import measure
from studies.openb.tables.small_trace import TRACE


def test_speeds_are_of_the_same_policy(small_batch: SeededRuns) -> None:
    problem = small_batch.problem
    found = measure(TRACE, problem.nodes, problem.pods, (42, 43), find_policy("gpu-packing"), 20)
    assert (found.trace, found.policy) == (TRACE, "gpu-packing")
    assert found.ratio == pytest.approx(found.pods_per_second / found.plain_pods_per_second)
    assert found.plain_pods_per_second > 0
