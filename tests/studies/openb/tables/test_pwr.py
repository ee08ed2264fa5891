"""The table of PWR: watts, acceptance and nodes agree with a cluster that is put together pod by pod."""

import numpy as np
import pytest

from longshore.core.arrays.power import CPU_COLUMN, pwr_node_watts
from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.levels import is_at_level
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.pwr import LEVELS, MEASURES, power_row
from longshore_studies.openb.tables.runs import SeededRuns, play


def test_measures_are_those_of_the_cluster_at_that_moment(small_batch: SeededRuns) -> None:
    """At one level, every arrival of it counted anew."""
    policy = find_policy("gpu-packing")
    played = play(small_batch, policy)
    row = power_row(small_batch, policy, played, levels=(100,))
    nodes, pods = small_batch.problem.nodes, small_batch.problem.pods
    capacity, empty = nodes.gpu_capacity_milli, small_batch.problem.arrays
    by_seed = []
    for index, run in enumerate(small_batch.runs):
        node, devices = play_plainly(small_batch.problem, run, policy)
        by_rank = np.argsort(run.node_rank)
        values = []
        arrived = small_batch.arrived_milli(index)
        for event in np.flatnonzero(is_at_level(arrived, capacity, 100)):
            used = np.zeros((len(nodes.names), devices.shape[1]), np.int64)
            cpu, num_pods = np.zeros(len(nodes.names), np.int64), np.zeros(len(nodes.names))
            for one in np.flatnonzero(node[: event + 1] >= 0):
                at = by_rank[node[one]]
                used[at] += devices[one]
                cpu[at] += pods.cpu_milli[run.pod[one]]
                num_pods[at] += 1
            requested = empty.state.requested.copy()
            requested[:, CPU_COLUMN] = cpu
            state = empty.state._replace(requested=requested, gpu_used=used)
            watts = pwr_node_watts(empty._replace(state=state))
            is_on = num_pods > 0
            values.append((watts.sum() / 1e6, watts[is_on].sum() / 1e6, used.sum() / arrived[event], is_on.sum()))
        by_seed.append(np.mean(values, axis=0))
    for name, want in zip(MEASURES, np.mean(by_seed, axis=0), strict=True):
        assert row.measures[name][100].mean == pytest.approx(want, rel=1e-6), name


def test_a_row_as_json_has_every_measure_at_every_level(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-packing")
    row = power_row(small_batch, policy, play(small_batch, policy)).to_json()
    for name in MEASURES:
        by_level = row[name]
        assert isinstance(by_level, dict)
        assert list(by_level) == [str(level) for level in LEVELS]
    assert row["refusals"] == 0
