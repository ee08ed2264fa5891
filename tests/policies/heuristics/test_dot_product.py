"""FGD's DotProd: hand-computed values."""

import pytest

from longshore.policies.heuristics.dot_product import POLICY
from support.builders import PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode


@pytest.mark.parametrize(
    ("pod", "want_scores"),
    [
        # 1 - (0.5·0.25 + 0.5·0.125) / 2 = 0.90625 and 1 - (1·0.25 + 1·0.125) / 2 = 0.8125
        pytest.param(make_pod("p").cpu(32_000).gpu(1), [90, 81], id="one GPU"),
        # 1 - (0.5·0.25 + 0.5·0.0625) / 2 = 0.921875 and 1 - (0.25 + 0.0625) / 2 = 0.84375
        pytest.param(make_pod("p").cpu(32_000).gpu(1, 500), [92, 84], id="half a GPU"),
        pytest.param(make_pod("p").cpu(64_000), [87, 75], id="no GPU"),
        pytest.param(make_pod("p"), [100, 100], id="nothing asked for"),
    ],
)
def test_score_is_lower_where_more_is_left_of_what_is_asked_for(pod: PodBuilder, want_scores: list[int]) -> None:
    nodes = (make_node("a").cpu(64_000).gpu(4), make_node("b").cpu(128_000).gpu(8))
    arrays = encode(make_snapshot(*nodes, pod)).arrays
    assert POLICY.score(arrays, 0, arrays.nodes.is_real).tolist() == want_scores
