"""A Q-table that looks ahead learns states in which the pod behind is known, and others in which it is not."""

import jax
import numpy as np

from longshore.training.run.prepare import prepare
from training.tiny import STEPS, tiny_plan


def test_a_table_with_look_ahead_learns_about_the_pod_behind() -> None:
    # Twice what the nodes hold: pods wait in a queue, where the next one is known.
    buckets, nodes = 6, 3
    plan = tiny_plan(
        "qtable",
        learner_config={**STEPS, "steps": 800, "buckets": buckets, "lookahead": 2},
        workload_config={"pods": 24, "load": 2.0},
        evaluations=1,
    )
    prepared = prepare(plan)
    assert prepared.program.task.features == ("node_memory_free", "pod_memory", "next_memory")
    state = prepared.program.init(prepared.data, jax.random.PRNGKey(0)[None])
    state, figures = prepared.program.chunk(prepared.data, state)
    assert np.isfinite(figures["selection_return"][0])
    visited = np.flatnonzero(np.asarray(state.learner.visits[0]).any(axis=-1))
    # The last digit of a state is the bucket of the pod behind; 0 = none, or a small one.
    assert {0, 1} <= set((visited // buckets ** (nodes + 1)).tolist())
