"""A Q-table that looks ahead learns states in which the pod behind is known, and others in which it is not."""

import numpy as np

from longshore.training.jobs import learn, never_stop
from longshore.training.prepare import prepare
from training.tiny import STEPS, tiny_plan


def test_a_table_with_look_ahead_learns_about_the_pod_behind() -> None:
    # Twice what the nodes hold: pods wait in a queue, where the next one is known.
    buckets, nodes = 3, 3
    plan = tiny_plan(
        "qtable",
        learner_config={**STEPS, "steps": 400, "buckets": buckets, "lookahead": 2},
        workload_config={"pods": 24, "load": 2.0},
        evaluations=2,
    )
    prepared = prepare(plan)
    assert prepared.program.task.features == ("node_memory_free", "pod_memory", "next_memory")
    learnt = learn(prepared, never_stop)
    assert np.isfinite(learnt["returns"][0])
    state = prepared.program.init(prepared.data, np.zeros((1, 2), np.uint32))
    for _ in range(3):
        state, _ = prepared.program.chunk(prepared.data, state)
    visited = np.flatnonzero(np.asarray(state.learner.visits[0]).any(axis=-1))
    # The last digit of a state is the bucket of the pod behind; 0 = none, or a small one.
    assert {0, 1} <= set((visited // buckets ** (nodes + 1)).tolist())
