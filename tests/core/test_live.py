"""The live cluster: at any moment its arrays mean what a fresh encoding of its snapshot means."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_node, make_pod
from core.live_moves import histories
from longshore import filters
from longshore.core.encode import Encoded, encode
from longshore.core.features import ALL, features
from longshore.core.live import LiveCluster
from longshore.core.pod import Pod
from longshore.policies import REGISTRY

FILTERS = filters.filter_set("upstream+latency")
SCORED_BY = ("kube-default", "fgd", "gpu-clustering", "random", "energy-latency")


def fresh_of(live: LiveCluster, encoded: Encoded) -> Encoded:
    """Encode the cluster anew, at the same point of its random numbers."""
    fresh = encode(live.snapshot())
    old, new = encoded.arrays.state, fresh.arrays.state
    last = encoded.node_names[int(old.last_node)] if old.last_node >= 0 else ""
    progress = {"seed": old.seed, "step": old.step, "last_node": np.int32(fresh.node_index.get(last, -1))}
    return replace(fresh, arrays=fresh.arrays._replace(state=new._replace(**progress)))


def assert_same_rooms(live: Encoded, fresh: Encoded) -> None:
    """Compare what pods take, node by node."""
    assert sorted(live.node_names) == sorted(fresh.node_names)
    order = [live.node_index[name] for name in fresh.node_names]
    rows = slice(0, len(order))
    columns = [live.resource_names.index(name) for name in fresh.resource_names]
    one, other = live.arrays.state, fresh.arrays.state
    assert (one.requested[order][:, columns] == other.requested[rows]).all()
    for name in ("nonzero_requested", "pod_count", "gpu_used"):
        assert (getattr(one, name)[order] == getattr(other, name)[rows]).all(), name
    assert (live.arrays.nodes.name_rank[order] == fresh.arrays.nodes.name_rank[rows]).all()


def assert_same_decision(live: Encoded, fresh: Encoded, pod: Pod) -> None:
    """Compare where a pod may go, why not elsewhere, how nodes score and which one is chosen."""
    order = [live.node_index[name] for name in fresh.node_names]
    one, other = live.class_of(pod), fresh.class_of(pod)
    mask, why = filters.judge(live, one, FILTERS)
    fresh_mask, fresh_why = filters.judge(fresh, other, FILTERS)
    rows = slice(0, len(order))
    assert (mask[order] == fresh_mask[rows]).all()
    assert why == fresh_why
    for name in SCORED_BY:
        policy = REGISTRY.load(name)
        scores = policy.score(live.arrays, np.asarray(one), mask)
        fresh_scores = policy.score(fresh.arrays, np.asarray(other), fresh_mask)
        assert (scores[order][mask[order]] == fresh_scores[rows][mask[order]]).all(), name
        chosen = policy.choose(live.arrays, scores, mask), policy.choose(fresh.arrays, fresh_scores, fresh_mask)
        names = [*live.node_names, None][chosen[0]], [*fresh.node_names, None][chosen[1]]
        assert names[0] == names[1], name
    seen = features(live.arrays, np.asarray(one), mask, ALL)[order]
    fresh_seen = features(fresh.arrays, np.asarray(other), fresh_mask, ALL)[rows]
    np.testing.assert_allclose(seen, fresh_seen, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**31))
@settings(max_examples=30)
def test_arrays_mean_what_a_fresh_encoding_means(seed: int) -> None:
    for done, live in histories(seed, num_moves=30):
        encoded = live.encoded()
        fresh = fresh_of(live, encoded)
        try:
            assert_same_rooms(encoded, fresh)
            for pod in live.snapshot().pending:
                assert_same_decision(encoded, fresh, pod)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error
