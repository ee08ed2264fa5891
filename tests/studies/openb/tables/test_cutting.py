"""Cutting patterns against all ways to cut a GPU."""

from itertools import product

import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore_studies.openb.tables.cutting import cut_gpus

SHARES = (130, 240, 333, 334, 500, 510, 810, 1000)


def all_cuts(sizes: tuple[int, ...]) -> Array:
    """Return every multiset of sizes that fits on one GPU."""
    ranges = [range(1000 // size + 1) for size in sizes]
    return np.array([cuts for cuts in product(*ranges) if np.dot(cuts, sizes) <= 1000])


def or_more(patterns: Array) -> Array:
    return patterns[:, ::-1].cumsum(axis=1)[:, ::-1]


def test_patterns_fit_on_a_gpu() -> None:
    cutting = cut_gpus(np.array(SHARES))
    assert (cutting.patterns @ cutting.sizes <= 1000).all()


def test_every_way_to_cut_is_no_better_than_a_pattern() -> None:
    cutting = cut_gpus(np.array(SHARES))
    every, best = or_more(all_cuts(SHARES)), or_more(cutting.patterns)
    assert (every[:, None] <= best[None]).all(axis=2).any(axis=1).all()


def test_no_pattern_is_worse_than_another() -> None:
    best = or_more(cut_gpus(np.array(SHARES)).patterns)
    is_covered = (best[:, None] <= best[None]).all(axis=2)
    assert is_covered.sum() == len(best)


def test_shares_above_half_do_not_pair() -> None:
    cutting = cut_gpus(np.array([600, 600]))
    assert cutting.sizes.tolist() == [600] and cutting.patterns.tolist() == [[1]]


def test_pods_without_gpus_need_no_cut() -> None:
    cutting = cut_gpus(np.array([0, 0]))
    assert len(cutting.patterns) == 0 and cutting.size_of_share.tolist() == [0, 0]


@pytest.mark.parametrize("shares", [np.arange(1, 1001), np.arange(3, 1000, 7)])
def test_many_shares_are_rounded_down(shares: Array) -> None:
    cutting = cut_gpus(shares)
    assert (cutting.size_of_share <= shares).all()
    assert ((shares > 500) == (cutting.size_of_share > 500)).all()
    assert len(cutting.patterns) <= 3000


def test_few_shares_keep_their_size() -> None:
    assert cut_gpus(np.array([370, 11])).size_of_share.tolist() == [370, 11]
