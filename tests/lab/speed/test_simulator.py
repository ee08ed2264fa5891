"""The speed benchmark's workload: every constraint, about sixteen pods a node, and a queue."""

import numpy as np

from longshore.filters import feasible, filter_set
from longshore.simulator.params import compile_trace
from longshore_lab.speed import simulator as simulator_speed


def test_speed_trace_has_the_same_tables_for_every_seed():
    first, second = (compile_trace(simulator_speed.speed_trace(4, seed)) for seed in (0, 1))
    for one, other in zip(first.params.cluster.classes, second.params.cluster.classes, strict=True):
        np.testing.assert_equal(one, other)
    assert first.params.event_time.tolist() != second.params.event_time.tolist()


def test_speed_trace_uses_every_constraint():
    compiled = compile_trace(simulator_speed.speed_trace(16, 0))
    classes, tables = compiled.params.cluster.classes, compiled.params.cluster.tables
    for terms in (classes.hard_spread, classes.soft_spread, classes.affinity, classes.anti_affinity):
        assert (terms.query > 0).any()
    assert (classes.ports > 0).any()
    assert np.isfinite(classes.latency_hard_ms).any()
    names = filter_set("upstream+latency")
    masks = [feasible(compiled.params.cluster, np.asarray(c), names) for c in range(len(classes.request))]
    assert len({mask.tobytes() for mask in masks}) >= 4
    assert not tables.masks.all()


def test_measure_reports_both_simulators():
    cell = simulator_speed.measure(4, 16)
    assert cell.steps_per_second > 0
    assert cell.reference_steps_per_second > 0
    assert 8 < cell.running_per_node < 24
    assert cell.waiting > 0
