"""The search with steps of one size: it goes on where chance outweighs what a step gains, and averages chance out."""

import numpy as np
import pytest

from longshore_studies.openb.covariance import CovarianceSearch
from longshore_studies.openb.steady import SteadySearch

SIZE = 40
TOP = np.linspace(-1, 1, SIZE)
NOISE = 3.0
"""What chance adds to a variant; variants of one generation differ by less without it."""


def searched(generations: int, seed: int = 0, make: type = SteadySearch, noise: float = NOISE) -> SteadySearch:
    rng = np.random.default_rng(seed)
    search = make(SIZE, 32, 0.1, rng)
    for _ in range(generations):
        variants = search.ask()
        search.tell(-np.square(variants - TOP).sum(axis=1) + noise * rng.standard_normal(len(variants)))
    return search


def distance(place: np.ndarray) -> float:
    return float(np.linalg.norm(place - TOP) / np.linalg.norm(TOP))


@pytest.mark.parametrize("seed", range(3))
def test_it_comes_nearer_through_noise_than_a_search_that_learns_its_steps(seed: int) -> None:
    found, other = searched(1500, seed), searched(1500, seed, CovarianceSearch)
    assert distance(found.mean) < 0.4
    assert distance(found.mean) < 0.5 * distance(other.mean)


@pytest.mark.parametrize("seed", range(3))
def test_the_average_is_nearer_than_the_last_place(seed: int) -> None:
    found = searched(1500, seed)
    last = found.ask().mean(axis=0)  # mirrored variants are around it
    assert distance(found.mean) < 0.8 * distance(last)


def test_without_noise_it_arrives() -> None:
    assert distance(searched(400, noise=0.0).mean) < 0.05


def test_the_same_seed_searches_the_same_way() -> None:
    np.testing.assert_array_equal(searched(20).mean, searched(20).mean)
    assert (searched(20, 1).mean != searched(20, 2).mean).any()


def test_what_is_no_number_is_the_worst() -> None:
    search = searched(0)
    variants = search.ask()
    search.tell(np.where(variants[:, 0] > 0, np.nan, 0.0))
    assert search.mean[0] < 0
