"""A bundle trained on 4 nodes serves hundreds, and real ones, while nodes come, go and change."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longshore.core.words.errors import LongshoreError
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.real import host
from longshore_lab.proof.changing_nodes import ChangingResult, prove_changing_nodes
from support.local_cluster import running_cluster

FOUR_NODES = Path(__file__).parent / "four_nodes"
"""`longshore train ppo --workload test1 --objective el-rl --network deepsets --steps 20000`"""
NUM_NODES, NUM_PODS = 400, 200


def is_able() -> bool:
    try:
        host.check_host()
    except LongshoreError:
        return False
    return True


@pytest.fixture(scope="module")
def cluster(built_plugin: None, require_component: Callable[[str, str, bool], None]) -> Iterator[LocalCluster]:
    """Give many KWOK nodes and two real ones, without a scheduler."""
    packages = " ".join(dict.fromkeys((*host.PACKAGES.values(), host.CNI_PACKAGE)))
    require_component("a container runtime, and root", f"apt-get install {packages}", is_able())
    with running_cluster(
        nodes=NUM_NODES, real_nodes=2, node_cpu="16", node_memory="64Gi", has_scheduler=False
    ) as found:
        yield found


@pytest.mark.slow
async def test_all_pods_are_bound_to_nodes_that_could_take_them_while_nodes_change(cluster: LocalCluster) -> None:
    result = await prove_changing_nodes(cluster, FOUR_NODES, NUM_PODS, seed=1)
    assert result.wrong == []
    assert result.fallbacks == {}
    assert (result.bound, result.bound_twice) == (NUM_PODS, 0)
    assert result.ranked >= NUM_PODS / 2
    assert result.on_real_nodes == result.running_on_real_nodes >= 10
    assert sum(result.changes.values()) > 0
    assert result.is_well


@pytest.mark.parametrize(
    "change",
    [
        {"bound": 9},
        {"bound_twice": 1},
        {"wrong": ["x"]},
        {"fallbacks": {"nan": 1}},
        {"on_real_nodes": 2, "running_on_real_nodes": 1},
    ],
    ids=str,
)
def test_what_is_not_well(change: dict[str, object]) -> None:
    result = ChangingResult(4, 10, bound=10)
    assert result.is_well
    for name, value in change.items():
        setattr(result, name, value)
    assert not result.is_well
