"""`fragmentation`: the unusable share by hand."""

import pytest

from longshore.core.words.pod import GpuRequest
from longshore.core.words.snapshot import TypicalPod
from longshore.objectives.fragmentation import Fragmentation
from objectives.clusters import node, spec, transition

HALF = GpuRequest(1, 500)
TYPICAL = (TypicalPod(100, HALF, 0.75), TypicalPod(100, None, 0.25))


def test_fragmentation_is_a_share_of_capacity_or_of_what_is_idle() -> None:
    nodes = [node("a", gpu_count=2, gpu_model="T4"), node("b")]
    step = transition(nodes, {}, "a", spec(gpu=GpuRequest(1, 600)), typical=TYPICAL, padded_nodes=4)
    # Free: 400 and 1000. The half pod fits (on the second), 400 are of no use to it; the CPU pod uses nothing of 1400.
    unusable = 0.75 * 400 + 0.25 * 1400
    assert Fragmentation().reward(step) == pytest.approx(-unusable / 2000)
    assert Fragmentation(relative_to="idle").reward(step) == pytest.approx(-unusable / 1400)


def test_fragmentation_without_gpus_is_zero() -> None:
    step = transition([node("a")], {}, "a", typical=TYPICAL)
    assert Fragmentation().reward(step) == 0.0
    assert Fragmentation(relative_to="idle").reward(step) == 0.0


def test_fragmentation_with_nothing_idle_is_zero() -> None:
    nodes = [node("a", gpu_count=1, gpu_model="T4")]
    step = transition(nodes, {}, "a", spec(gpu=GpuRequest(1, 1000)), typical=TYPICAL)
    assert Fragmentation(relative_to="idle").reward(step) == 0.0
