"""Some faults on the way to a real API server, with fewer pods than `longshore bench proxy-faults` has."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.api_call import ApiCall
from longshore_lab.proof.fault_proxy import FaultProxy
from longshore_lab.proof.proxy_faults import ProxyFaultResult, most_bindings, proxy_fault_cluster, run_proxy_fault

NUM_PODS = 120
CHOSEN = (
    ("schedule", "half-open: nothing is answered"),
    ("schedule", "500 for every binding"),
    ("schedule", "the same, and the watch of pods stands still"),
    ("schedule", "etcd set back to an older revision"),
    ("plugin", "answers of bindings cut off"),
    ("plugin", "garbage for one answer in three"),
    ("stock", "500 for every binding"),
)

MAY_END = ("etcd set back to an older revision",)


@pytest.fixture(scope="module")
def cluster(built_plugin: None) -> Iterator[LocalCluster]:
    with proxy_fault_cluster(NUM_PODS) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(("through", "fault"), CHOSEN)
async def test_all_pods_are_bound_once(cluster: LocalCluster, through: str, fault: str) -> None:
    result = await run_proxy_fault(cluster, through, fault, NUM_PODS)
    assert result.misplaced == []
    assert (result.bound, result.bound_twice) == (NUM_PODS, 0)
    # Where upstream itself stands still it is started again by hand. A server that is away for longer than a lease may
    # go without a renewal ends any scheduler, as it does when etcd is restored while this machine is busy.
    assert result.restarts == int(result.is_by_hand) or (result.restarts == 1 and fault in MAY_END)
    assert result.disturbed > 0
    # All is bound; how soon after a restart by hand says how busy this machine is.
    assert result.is_well or result.is_by_hand


@pytest.mark.parametrize(
    "change",
    [
        {"bound": 9},
        {"bound_twice": 1},
        {"misplaced": ["x"]},
        {"waiting": 0},
        {"disturbed": 0},
        {"recovery_seconds": 20.1},
        {"recovery_seconds": float("inf")},
    ],
    ids=str,
)
def test_what_is_not_well(change: dict[str, object]) -> None:
    well = ProxyFaultResult("schedule", "x", 10, 5, 10, 0, [], 7, 2, 3.0, 0, 1)
    assert well.is_well
    assert not replace(well, **change).is_well


def test_bindings_are_counted_for_each_pod() -> None:
    proxy = FaultProxy("http://127.0.0.1:1")
    assert most_bindings(proxy) == 0
    for name, count in (("a", 2), ("b", 3)):
        proxy.asked[ApiCall("create", "pods", "binding", "n", name)] = count
    proxy.asked[ApiCall("patch", "pods", "status", "n", "a")] = 9
    assert most_bindings(proxy) == 3
