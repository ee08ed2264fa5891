"""What learned policies keep, on a cluster whose arrays are written to in place: the scores are those without."""

import numpy as np
import pytest

from core.live_moves import MOVES, QUIET_MOVES, histories
from longshore import filters
from longshore.core.arrays.features import ALL, feature_specs
from longshore.core.network.bundle import Envelope
from longshore.policies import row_cache
from longshore.policies.learned import learned
from support.bundle_samples import deepsets_tensors, make_bundle

POLICY = make_bundle(
    features=feature_specs(ALL),
    tensors=deepsets_tensors(len(ALL)),
    envelope=Envelope((-1.0,) * len(ALL), (1.0,) * len(ALL)),
)


@pytest.mark.parametrize("moves", [MOVES, QUIET_MOVES], ids=["all moves", "nodes and readings"])
@pytest.mark.parametrize("few_nodes", [0, 1000], ids=["rows are kept", "columns are kept"])
def test_scores_on_a_live_cluster_are_those_without_a_cache(
    few_nodes: int, moves: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_cache, "FEW_NODES", few_nodes)
    plain, num_compared = learned(POLICY), 0
    for seed in range(6):
        kept = learned(POLICY, keeps_rows=True)
        for done, live in histories(seed, 40, moves):
            encoded = live.encoded()
            for pod in live.snapshot().pending[:4]:
                pod_class = np.asarray(encoded.class_of(pod))
                mask = filters.feasible(encoded.arrays, pod_class)
                found = kept.score(encoded.arrays, pod_class, mask)
                want = plain.score(encoded.arrays, pod_class, mask)
                np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4, err_msg=done)
                num_compared += 1
    assert num_compared > 100
