"""Runs of mixes: stacked without changing them, narrowed without changing what happens, read where demand says."""

import jax
import numpy as np
import pytest

from longshore.policies import REGISTRY
from longshore_studies.openb.filling import fill
from longshore_studies.openb.mixed_runs import LEVELS, NUM_KINDS, draw_runs, every, on_device, play, some
from longshore_studies.openb.tables.mixes import draw_mix
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem
from studies.openb.tables.small_trace import TRACE, write_small_trace

SETS = (("G2",), ("P100", "T4"))
compiled_fill = jax.jit(fill, static_argnums=(0, 2))
compiled_play = jax.jit(play, static_argnums=(0, 2))


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """Return a small cluster and its pods."""
    folder = write_small_trace(tmp_path_factory.mktemp("trace"), num_nodes=12)
    return Problem(read_nodes(folder), read_pods(folder, TRACE))


def test_a_run_among_others_goes_as_it_does_alone(problem: Problem) -> None:
    policy, seeds = REGISTRY.load("gpu-packing"), (3, 4, 5)
    runs = on_device(draw_runs(problem, SETS, seeds))
    together = compiled_play(policy, runs, problem.num_shares)
    capacity = problem.nodes.gpu_capacity_milli
    for row, seed in enumerate(seeds):
        alone, milli = draw_mix(problem, SETS, seed, LEVELS[-1] / 100, NUM_KINDS)
        outcome = compiled_fill(policy, jax.tree.map(jax.numpy.asarray, alone), problem.num_shares)
        arrived = np.cumsum(milli)
        for column, percent in enumerate(LEVELS):
            event = min(int(np.searchsorted(arrived, percent / 100 * capacity)), len(milli) - 1)
            allocated = 100 * np.asarray(outcome.milli)[: event + 1].sum() / capacity
            assert np.asarray(together.allocated)[row, column] == pytest.approx(allocated, abs=1e-3)
            num_on = 100 * np.asarray(outcome.nodes_on)[: event + 1].sum() / len(problem.nodes.names)
            assert np.asarray(together.nodes_on)[row, column] == pytest.approx(num_on, abs=1e-3)


def test_some_runs_are_those_that_were_asked_for(problem: Problem) -> None:
    runs = on_device(draw_runs(problem, SETS, (3, 4, 5)))
    policy = REGISTRY.load("gpu-best-fit")
    all_of_them = compiled_play(policy, runs, problem.num_shares)
    two = compiled_play(policy, some(runs, np.array([2, 0])), problem.num_shares)
    assert np.array_equal(two.allocated, np.asarray(all_of_them.allocated)[[2, 0]])


def test_every_third_node_keeps_the_kinds_of_nodes(problem: Problem) -> None:
    part = every(problem.nodes, 3)
    assert part.names == problem.nodes.names[::3]
    assert part.gpu_count.tolist() == problem.nodes.gpu_count[::3].tolist()
    assert part.model == problem.nodes.model[::3]
