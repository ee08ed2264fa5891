"""`el-rl`: r1 + r2 + r3 of the thesis, term by term."""

import pytest

from longshore.core.words.node import NodeReadings
from longshore.objectives.base import Transition
from longshore.objectives.el_rl import EnergyLatency
from objectives.clusters import daemon, node, spec, transition

LIMITED = spec(latency_soft_ms=20.0, latency_hard_ms=30.0)


def placed(latency_ms: float | None, pod: object = LIMITED) -> Transition:
    """Put a third pod on node `a`, where two of four nodes are on afterwards."""
    nodes = [node("a", readings=NodeReadings(latency_ms=latency_ms)), node("b"), node("c"), node("d")]
    return transition(nodes, {"a": [spec()], "b": [spec()]}, "a", pod, padded_nodes=7)


PACKING = 2 / 4 + (3 / 2) / 50


@pytest.mark.parametrize(
    ("latency_ms", "want"),
    [(5.0, 1.0), (20.0, 1.0), (20.1, 0.5), (30.0, 0.5), (30.1, 0.0), (None, 0.0)],
)
def test_el_rl_adds_packing_and_latency(latency_ms: float | None, want: float) -> None:
    step = placed(latency_ms)
    assert EnergyLatency().reward(step) == pytest.approx(PACKING + want)
    assert not EnergyLatency().ends_episode(step)
    assert bool(EnergyLatency(strict=True).ends_episode(step)) is (want == 0.0)


@pytest.mark.parametrize("limits", [{}, {"latency_soft_ms": 20.0}, {"latency_hard_ms": 30.0}])
def test_el_rl_gives_no_latency_reward_without_both_limits(limits: dict[str, float]) -> None:
    assert EnergyLatency().reward(placed(5.0, spec(**limits))) == pytest.approx(PACKING)


def test_el_rl_lets_the_hard_limit_decide_below_the_soft_one() -> None:
    assert EnergyLatency().reward(placed(15.0, spec(latency_soft_ms=20.0, latency_hard_ms=10.0))) == pytest.approx(
        PACKING
    )


def test_strict_el_rl_counts_the_control_plane() -> None:
    assert EnergyLatency(strict=True).reward(placed(5.0)) == pytest.approx(3 / 5 + (3 / 2) / 50 + 1.0)


def test_el_rl_counts_neither_daemonsets_nor_the_nodes_that_have_nothing_else() -> None:
    nodes = [node(name) for name in "abcd"]
    step = transition(nodes, {"a": [spec(), daemon()], "b": [daemon()], "c": [daemon()]}, "a")
    assert EnergyLatency().reward(step) == pytest.approx(3 / 4 + 2 / 50)
    assert EnergyLatency(strict=True).reward(step) == pytest.approx(2 / 5 + 5 / 3 / 50)
