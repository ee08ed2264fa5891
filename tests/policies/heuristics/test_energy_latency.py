"""The greedy rule behind EL-RL: limits first, then few machines, then latency."""

import pytest

from longshore.core.arrays.choose import choose
from longshore.policies.heuristics.energy_latency import POLICY
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode


def node(name: str, latency_ms: float | None = None) -> NodeBuilder:
    return make_node(name) if latency_ms is None else make_node(name).readings(latency_ms=latency_ms)


def there(name: str, number: int = 1) -> list[PodBuilder]:
    return [make_pod(f"there-{name}-{i}").on(name) for i in range(number)]


limited = make_pod("p").latency(20, 30)


@pytest.mark.parametrize(
    ("parts", "pod", "want_node"),
    [
        pytest.param(
            [node("a", 5), node("b", 19), *there("b")], limited, "b", id="a node that is on beats a faster one"
        ),
        pytest.param(
            [node("a", 25), node("b", 19), *there("a")], limited, "b", id="the soft limit beats a node that is on"
        ),
        pytest.param([node("a", 99), node("b", 29), *there("a")], limited, "b", id="the hard limit comes next"),
        pytest.param(
            [node("a", 99), node("b", 90), *there("a")], limited, "a", id="beyond all limits the rest decides"
        ),
        pytest.param([node("a", 9), node("b", 9), *there("a"), *there("b", 2)], limited, "b", id="most pods"),
        pytest.param([node("a", 9.002), node("b", 9.001)], limited, "b", id="lowest latency among equals, to the µs"),
        pytest.param([node("b", 9), node("a", 9)], limited, "a", id="lowest name at last"),
        pytest.param([node("a"), node("b", 30), *there("a")], limited, "b", id="no reading is within no limit"),
        pytest.param([node("a"), node("b", 30), *there("a")], make_pod("p"), "a", id="no limit holds everywhere"),
        pytest.param([node("a"), node("b", 30)], make_pod("p"), "b", id="no reading is slowest"),
        pytest.param(
            [node("a", 40), node("b", 29), *there("a")], make_pod("p").latency(None, 30), "b", id="a hard limit alone"
        ),
    ],
)
def test_choice_follows_the_rule(parts: list[NodeBuilder | PodBuilder], pod: PodBuilder, want_node: str) -> None:
    encoded = encode(make_snapshot(*parts, pod))
    arrays, pod_class = encoded.arrays, encoded.class_of(pod.build())
    chosen = choose(arrays, POLICY.score(arrays, pod_class, arrays.nodes.is_real), arrays.nodes.is_real)
    assert encoded.node_names[chosen] == want_node


def test_scores_stay_exact_in_float64() -> None:
    arrays = encode(make_snapshot(node("a", 0.0), make_pod("p"))).arrays
    crowded = arrays._replace(state=arrays.state._replace(pod_count=arrays.state.pod_count + (1 << 40)))
    assert POLICY.score(crowded, 0, arrays.nodes.is_real)[0] < 1 << 53
