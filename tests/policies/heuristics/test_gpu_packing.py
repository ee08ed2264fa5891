"""FGD's GpuPacking: one value for each of its cases."""

import pytest

from longshore.policies.heuristics.gpu_packing import POLICY
from support.builders import PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode


@pytest.mark.parametrize(
    ("gpus", "there", "pod", "want_score"),
    [
        pytest.param(8, [], make_pod("p").gpu(1), 25, id="free node: 33 - 8"),
        pytest.param(20, [], make_pod("p").gpu(1), 20, id="free node with many GPUs: their number"),
        pytest.param(2, [(0, 600)], make_pod("p").gpu(1, 500), 49, id="opens a GPU: 50 - 1"),
        pytest.param(4, [(0, 600)], make_pod("p").gpu(2), 48, id="opens two GPUs: 50 - 2"),
        pytest.param(2, [(0, 600)], make_pod("p").gpu(1, 400), 96, id="shares a GPU: 100 - 40 % / 10"),
        pytest.param(2, [(0, 600), (1, 715)], make_pod("p").gpu(1, 200), 98, id="the fuller of two: 100 - 28 % / 10"),
        pytest.param(2, [(0, 600)], make_pod("p"), 0, id="no GPU wanted"),
    ],
)
def test_score_by_what_must_be_opened(
    gpus: int, there: list[tuple[int, int]], pod: PodBuilder, want_score: int
) -> None:
    bound = [make_pod(f"there-{device}").gpu(1, milli).on("a", (device,)) for device, milli in there]
    encoded = encode(make_snapshot(make_node("a").gpu(gpus), *bound, pod))
    pod_class = encoded.class_of(pod.build())
    assert POLICY.score(encoded.arrays, pod_class, encoded.arrays.nodes.is_real).tolist() == [want_score]
