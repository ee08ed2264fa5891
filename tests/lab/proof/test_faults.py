"""Every fault on a real cluster, with fewer pods than `longshore bench faults` has: nothing is lost."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.faults import FAULTS, FaultResult, fault_cluster, run_fault

NUM_PODS = 60
LEFT_OUT = "only replica killed, its lease runs out"
"""It takes the time of a lease, as the one with two replicas does."""


@pytest.fixture(scope="module")
def cluster(built_programs: None) -> Iterator[LocalCluster]:
    with fault_cluster() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name in FAULTS if name != LEFT_OUT])
async def test_nothing_is_lost(cluster: LocalCluster, fault: str) -> None:
    result = await run_fault(cluster, fault, NUM_PODS)
    assert result.misplaced == []
    assert (result.bound, result.bound_twice) == (NUM_PODS, 0)
    assert result.waiting > 0
    assert result.recovery_seconds <= 20.0
    assert result.is_well


@pytest.mark.parametrize(
    "change",
    [
        {"bound": 9},
        {"bound_twice": 1},
        {"misplaced": ["x"]},
        {"recovery_seconds": 20.1},
        {"recovery_seconds": float("inf")},
        {"waiting": 0},
    ],
    ids=str,
)
def test_what_is_not_well(change: dict[str, object]) -> None:
    well = FaultResult("x", 10, 5, 10, 0, [], 0.0, 3.0)
    assert well.is_well
    assert not replace(well, **change).is_well
