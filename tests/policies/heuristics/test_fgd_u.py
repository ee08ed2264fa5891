"""FGD with ties by potential: never another score than FGD's, and among equals the node that loses least."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.words.pod import GpuRequest
from longshore.core.words.snapshot import TypicalPod
from longshore.filters import feasible
from longshore.policies.heuristics import fgd, fgd_u
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_a_higher_score_of_fgd_stays_higher(seed: int) -> None:
    arrays = encode(random_snapshot(seed), seed=seed).arrays
    for pod_class in range(len(arrays.classes.request)):
        mask = feasible(arrays, pod_class)
        plain = fgd.POLICY.score(arrays, pod_class, mask)[mask]
        scores = fgd_u.POLICY.score(arrays, pod_class, mask)[mask]
        assert (np.abs(scores - plain) < 0.5).all()


def test_of_equals_the_node_where_more_pods_still_fit_is_better() -> None:
    """Two nodes of two GPUs, typical pods take a whole one with 4 CPU; b has CPU for one of them only, a for both."""
    typical = (TypicalPod(4000, GpuRequest(1, 1000), 1.0),)
    nodes = make_node("a").cpu(16_000).gpu(2), make_node("b").cpu(7000).gpu(2)
    arrays = encode(make_snapshot(*nodes, make_pod("p").cpu(1000).gpu(1, 1000), typical_pods=typical)).arrays
    mask = np.ones(2, bool)
    assert len(set(fgd.POLICY.score(arrays, np.asarray(0), mask).tolist())) == 1
    a, b = fgd_u.POLICY.score(arrays, np.asarray(0), mask).tolist()
    # On a the pod takes the place of one typical pod; on b, which had CPU for one of two, it takes nothing.
    assert b > a
