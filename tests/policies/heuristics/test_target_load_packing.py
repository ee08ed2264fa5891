"""TargetLoadPacking: values on both sides of the target, and where the load comes from."""

import pytest

from longshore.policies.heuristics.target_load_packing import POLICY
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


@pytest.mark.parametrize(
    ("measured", "want_score"),
    [
        (0.0, 55.0),  # 10 % with the pod: 60·10 / 40 + 40
        (0.3, 100.0),  # 40 %: the target
        (0.4, 100 / 3),  # 50 %: 40·50 / 60
        (0.9, 0.0),  # 100 %
        (0.95, 0.0),  # 105 %
    ],
)
def test_score_peaks_at_the_target(measured: float, want_score: float) -> None:
    arrays = encode(make_snapshot(make_node("a").readings(cpu_ratio=measured), make_pod("p").cpu(400))).arrays
    assert POLICY.score(arrays, 0, arrays.nodes.is_real)[0] == pytest.approx(want_score)


def test_requests_stand_in_for_a_missing_reading() -> None:
    there = make_pod("there").cpu(800)
    known, unknown = make_node("known").readings(cpu_ratio=0.2), make_node("unknown")
    arrays = encode(make_snapshot(known, unknown, there.on("unknown"), make_pod("p").cpu(400))).arrays
    known_score, unknown_score = POLICY.score(arrays, 1, arrays.nodes.is_real)
    assert known_score == pytest.approx(unknown_score) == pytest.approx(85.0)
