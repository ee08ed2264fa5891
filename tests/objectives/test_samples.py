"""The built-in sample placements."""

import numpy as np
import pytest

from longshore.objectives.samples import sample_transitions


def test_samples_cover_what_a_term_can_meet() -> None:
    steps = sample_transitions()
    assert any(step.before.state.pod_count.sum() == 0 for step in steps)
    assert any(not step.before.nodes.is_real.all() for step in steps)
    assert any(not step.before.readings.latency_known[step.node] for step in steps)
    assert any(step.after.classes.has_latency_limits[step.pod_class] for step in steps)
    assert any(step.after.state.gpu_used.sum() > step.before.state.gpu_used.sum() for step in steps)
    assert any(step.before.state.gpu_used.shape[1] == 0 for step in steps)


def test_samples_are_placements_on_real_nodes() -> None:
    for step in sample_transitions():
        assert step.before.nodes.is_real[step.node]
        added = step.after.state.pod_count - step.before.state.pod_count
        assert list(np.flatnonzero(added)) == [step.node]


def test_samples_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sample_transitions()[0].after.state.pod_count[0] += 1
