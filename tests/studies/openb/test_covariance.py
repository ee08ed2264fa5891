"""The search finds directions in which weights have to move together."""

import numpy as np

from longshore_studies.openb.covariance import CovarianceSearch

SIZE = 12
# A valley: a thousand times as steep across as along, and along no axis.
TURNED = np.linalg.qr(np.random.default_rng(7).standard_normal((SIZE, SIZE)))[0]
STEEP = TURNED * np.logspace(0, 3, SIZE) @ TURNED.T
TOP = np.linspace(-1, 1, SIZE)


def height(points: np.ndarray) -> np.ndarray:
    apart = points - TOP
    return -np.einsum("pi,ij,pj->p", apart, STEEP, apart)


def searched(generations: int, seed: int = 0) -> CovarianceSearch:
    search = CovarianceSearch(SIZE, 16, 0.5, np.random.default_rng(seed))
    for _ in range(generations):
        search.tell(height(search.ask()))
    return search


def test_it_follows_a_narrow_valley_to_the_top() -> None:
    for seed in range(3):
        np.testing.assert_allclose(searched(400, seed).mean, TOP, atol=1e-3)


def test_the_same_seed_searches_the_same_way() -> None:
    np.testing.assert_array_equal(searched(20).mean, searched(20).mean)
    assert (searched(20, 1).mean != searched(20, 2).mean).any()


def test_variants_come_in_mirrored_pairs() -> None:
    search = searched(10)
    first, second = np.split(search.ask(), 2)
    np.testing.assert_allclose((first + second) / 2, np.broadcast_to(search.mean, first.shape), atol=1e-9)


def test_what_is_no_number_is_the_worst() -> None:
    search = searched(0)
    variants = search.ask()
    search.tell(np.where(variants[:, 0] > 0, np.nan, 0.0))
    assert search.mean[0] < 0
