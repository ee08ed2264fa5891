"""The trial of a policy: sound ones place pods, others are refused with the reason."""

import numpy as np
import pytest

from longshore.core.network.bundle import Bundle
from longshore.core.words.errors import LongshoreError
from longshore.deciding.trial import try_bundle
from support.bundle_samples import FEATURES, deepsets_tensors, make_bundle, make_dial, make_fixed, make_hybrid


@pytest.mark.parametrize(
    ("policy", "want_nodes"),
    [(make_bundle(), 5), (make_hybrid("kube-default"), 5), (make_dial(), 5), (make_fixed(4), 4)],
)
def test_a_sound_policy_places_pods(policy: Bundle, want_nodes: int):
    trial = try_bundle(policy)
    assert trial.nodes == want_nodes
    assert 0 < trial.placed <= trial.pods


def test_scores_that_overflow_are_refused():
    tensors = {name: np.full_like(tensor, 3e38) for name, tensor in deepsets_tensors(len(FEATURES)).items()}
    with pytest.raises(LongshoreError, match="scores that are not finite"):
        try_bundle(make_bundle(tensors=tensors))


def test_what_this_installation_lacks_is_said():
    with pytest.raises(LongshoreError, match="unknown policy `mine`"):
        try_bundle(make_hybrid("mine"))
    with pytest.raises(LongshoreError, match="unknown filter set"):
        try_bundle(make_bundle(filters="mine"))
