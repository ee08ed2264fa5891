"""FGD's GpuClustering: company of one's own kind counts more than fullness."""

import pytest

from longshore.policies.heuristics.gpu_clustering import POLICY
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode


def nodes_and_pods() -> list[NodeBuilder | PodBuilder]:
    nodes = [make_node(name).gpu(8) for name in ("empty", "mixed", "shares", "wholes")]
    bound = [
        make_pod("share").gpu(1, 300).on("shares"),
        make_pod("other share").gpu(1, 900).on("shares"),
        make_pod("whole").gpu(1).on("wholes"),
        make_pod("share too").gpu(1, 500).on("mixed"),
        make_pod("whole too").gpu(1).on("mixed"),
        make_pod("no GPU").cpu(100).on("empty"),
    ]
    return [*nodes, *bound]


@pytest.mark.parametrize(
    ("pod", "want_scores"),
    [
        # Fullness is 25·used / 8000, cut: empty 0, mixed 1500 -> 4, shares 1200 -> 3, wholes 1000 -> 3.
        pytest.param(make_pod("p").gpu(1, 100), [25, 54, 78, 3], id="a share of any size"),
        pytest.param(make_pod("p").gpu(1), [25, 54, 3, 78], id="one whole GPU"),
        pytest.param(make_pod("p").gpu(2), [25, 4, 3, 3], id="two whole GPUs are another kind than one"),
        pytest.param(make_pod("p").cpu(500), [0, 0, 0, 0], id="no GPU wanted"),
    ],
)
def test_score_by_company(pod: PodBuilder, want_scores: list[int]) -> None:
    encoded = encode(make_snapshot(*nodes_and_pods(), pod))
    pod_class = encoded.class_of(pod.build())
    assert POLICY.score(encoded.arrays, pod_class, encoded.arrays.nodes.is_real).tolist() == want_scores
