"""Mixes: shares are those that were drawn, the typical table is of the pods that come, and a seed is one mix."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore_studies.openb.filling import Filling
from longshore_studies.openb.tables.mixes import MixRanges, draw_mix
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem
from studies.openb.tables.small_trace import TRACE

SETS = (("G2",), ("T4", "P100"))
RATIO, MANY_KINDS = 3.0, 80
# Few pods are drawn for a small cluster: shares are near what they were drawn from, not equal to it.
NEAR = 0.08


class Mix(NamedTuple):
    """A mix, with what its pods want."""

    problem: Problem
    run: Filling
    asked: Array  # [pods]; GPU milli
    count: Array  # [pods]; GPUs
    has_models: Array  # [pods] bool


@pytest.fixture(scope="module")
def problem(small_folder: Path) -> Problem:
    """Hold the small trace."""
    return Problem(read_nodes(small_folder), read_pods(small_folder, TRACE))


def mix(problem: Problem, seed: int = 0, ranges: MixRanges | None = None, num_kinds: int = MANY_KINDS) -> Mix:
    given = () if ranges is None else (ranges,)
    run, asked = draw_mix(problem, SETS, seed, RATIO, num_kinds, *given)
    count = np.array([problem.shapes[one][1] for one in run.pod_class])
    return Mix(problem, run, asked, count, run.models > 0)


def share(part: Array, whole: Array) -> float:
    return float(part.sum() / whole.sum())


@pytest.mark.parametrize("wanted", [0.0, 0.1, 0.3])
def test_the_share_of_pods_without_gpu_is_the_drawn_one(problem: Problem, wanted: float) -> None:
    found = mix(problem, ranges=MixRanges(cpu_pods=(wanted, wanted)))
    assert np.mean(found.asked == 0) == pytest.approx(wanted, abs=NEAR)


@pytest.mark.parametrize("wanted", [0.1, 0.5, 1.0])
def test_the_share_of_parts_of_a_gpu_is_the_drawn_one(problem: Problem, wanted: float) -> None:
    found = mix(problem, ranges=MixRanges(partial=(wanted, wanted), several=(0.0, 0.0)))
    assert share(found.asked[found.asked < 1000], found.asked) == pytest.approx(wanted, abs=NEAR)
    assert (found.count <= 1).all()


@pytest.mark.parametrize("wanted", [0.2, 0.6])
def test_the_share_of_several_gpus_is_the_drawn_one(problem: Problem, wanted: float) -> None:
    found = mix(problem, ranges=MixRanges(several=(wanted, wanted)))
    assert share(found.asked[found.count > 1], found.asked) == pytest.approx(wanted, abs=NEAR)


@pytest.mark.parametrize("wanted", [-0.2, 0.0, 0.4])
def test_the_share_of_gpu_pods_with_some_models_is_the_drawn_one(problem: Problem, wanted: float) -> None:
    found = mix(problem, ranges=MixRanges(constrained=(wanted, wanted)))
    assert not found.has_models[found.asked == 0].any()
    assert np.mean(found.has_models[found.asked > 0]) == pytest.approx(max(wanted, 0.0), abs=NEAR)


def test_sets_of_models_that_hold_little_are_asked_for_less_unless_told_otherwise(problem: Problem) -> None:
    held = [sum(problem.nodes.gpu_count[[model in one for model in problem.nodes.model]]) for one in SETS]

    def asked_for(power: float) -> np.ndarray:
        ranges = MixRanges(constrained=(0.9, 0.9), held=(power, power))
        counts = [np.bincount(mix(problem, seed, ranges).run.models, minlength=len(SETS) + 1)[1:] for seed in range(20)]
        return np.sum(counts, axis=0)

    alike, by_size = asked_for(0.0), asked_for(4.0)
    rare = int(np.argmin(held))
    assert alike[rare] / alike.sum() > 0.5 / len(SETS)
    assert by_size[rare] / by_size.sum() < 0.5 * alike[rare] / alike.sum()


def test_the_pressure_of_a_mix_is_that_of_its_pods(problem: Problem) -> None:
    plain, bound = (mix(problem, ranges=MixRanges(constrained=(share, share))).run for share in (0.0, 0.6))
    gpus = bound.arrays.nodes.gpu_capacity.sum(axis=1)
    np.testing.assert_allclose(plain.arrays.tables.typical_pressure, 1.0, rtol=1e-6)
    pressure = bound.arrays.tables.typical_pressure
    assert np.ptp(pressure) > 0.1
    assert (pressure * gpus).sum() / gpus.sum() == pytest.approx(1)
    # Nodes of one model are pressed alike, in the order that nodes stand in: by the watts of their GPUs.
    for watts in np.unique(bound.arrays.nodes.gpu_watts[:, 1]):
        assert np.ptp(pressure[bound.arrays.nodes.gpu_watts[:, 1] == watts]) == 0


def test_shares_stay_within_their_ranges(problem: Problem) -> None:
    ranges = MixRanges()
    for seed in range(12):
        found = mix(problem, seed)
        several = share(found.asked[found.count > 1], found.asked)
        assert np.mean(found.asked == 0) <= ranges.cpu_pods[1] + NEAR
        assert several <= ranges.several[1] + NEAR
        assert share(found.asked[found.asked < 1000], found.asked) >= (1 - several) * ranges.partial[0] - NEAR
        assert np.mean(found.has_models[found.asked > 0]) <= ranges.constrained[1] + NEAR


def test_mixes_differ_from_each_other_and_a_seed_is_one_mix(problem: Problem) -> None:
    first, again, other = mix(problem, 1), mix(problem, 1), mix(problem, 2)
    for one, two in zip(jax.tree.leaves(first.run), jax.tree.leaves(again.run), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.run.pod_class[:100], other.run.pod_class[:100])


def test_runs_end_where_the_ratio_is_reached(problem: Problem) -> None:
    capacity = problem.nodes.gpu_capacity_milli
    for seed in range(6):
        total = mix(problem, seed).asked.sum() / capacity
        # The next pod would have gone beyond: none asks for more than eight GPUs.
        assert RATIO - 8000 / capacity < total <= RATIO


def test_pods_are_allowed_on_nodes_of_their_models(problem: Problem) -> None:
    run = mix(problem, ranges=MixRanges(constrained=(0.4, 0.4))).run
    rank_of_name = run.arrays.nodes.name_rank
    assert run.allowed[0].all()
    for number, models in enumerate(SETS, start=1):
        wanted = sum(model in models for model in problem.nodes.model)
        assert run.allowed[number].sum() == wanted
    # Nodes stand in another order than in the file, and models moved with them: by the watts of their GPUs.
    t4 = run.arrays.nodes.gpu_watts[:, 1] == 70.0
    assert (run.allowed[2] >= t4).all()
    assert sorted(rank_of_name) == list(range(len(rank_of_name)))


@pytest.mark.parametrize("seed", range(4))
def test_typical_shares_and_the_rest_are_all_pods_of_every_node(problem: Problem, seed: int) -> None:
    tables = mix(problem, seed).run.arrays.tables
    np.testing.assert_allclose(tables.typical_share.sum(axis=0) + tables.typical_rest, 1.0, atol=1e-6)


def test_the_typical_table_is_of_the_pods_that_come(problem: Problem) -> None:
    found = mix(problem, 3, MixRanges(constrained=(0.0, 0.0)))
    tables = found.run.arrays.tables
    came = Counter(problem.shapes[one] for one in found.run.pod_class)
    kinds = zip(tables.typical_gpu_milli, tables.typical_gpu_count, tables.typical_cpu_millis, strict=True)
    number = {kind: came[tuple(map(int, kind))] for kind in kinds if kind[0] > 0}
    assert number
    shares = tables.typical_share[: len(number), 0]
    # As often as they come, but for the rare kinds that are not typical.
    np.testing.assert_allclose(shares / shares.sum(), np.array([*number.values()]) / sum(number.values()), atol=1e-4)


def test_a_short_table_keeps_the_most_frequent_kinds_and_a_long_one_is_filled_up(problem: Problem) -> None:
    short, long = (mix(problem, 3, num_kinds=number).run.arrays.tables for number in (4, MANY_KINDS))
    assert short.typical_share.shape[0] == 4
    assert long.typical_share.shape[0] == MANY_KINDS
    np.testing.assert_array_equal(short.typical_share, long.typical_share[:4])
    np.testing.assert_array_equal(short.typical_rest, long.typical_rest)
    is_used = long.typical_gpu_milli > 0
    assert 4 < is_used.sum() < MANY_KINDS
    assert not long.typical_share[~is_used].any()
