"""Tests of the random draws: reproducible, and distributed as they say."""

import statistics
from collections import Counter

import pytest

from longshore.workloads.draw import Draw

MANY = 20_000
PINNED = [0.1618500084825184, 116964, 0.34728466587065926]


def test_name_and_seed_name_the_stream() -> None:
    def first(name: str, seed: int) -> list[float]:
        draw = Draw(name, seed)
        return [draw.uniform() for _ in range(3)]

    assert first("a", 1) == first("a", 1)
    assert len({tuple(first(name, seed)) for name in "ab" for seed in range(10)}) == 20


def test_the_stream_is_the_same_in_every_release() -> None:
    draw = Draw("a", 1)
    assert [draw.uniform(), draw.integer(0, 10**6), draw.normal(0.0, 1.0)] == pytest.approx(PINNED, rel=1e-12)


def test_integers_reach_both_ends_evenly() -> None:
    draw = Draw("a", 1)
    counts = Counter(draw.integer(3, 6) for _ in range(MANY))
    assert sorted(counts) == [3, 4, 5, 6]
    assert all(count == pytest.approx(MANY / 4, rel=0.05) for count in counts.values())


def test_weighted_follows_the_weights() -> None:
    draw = Draw("a", 2)
    counts = Counter(draw.weighted("xyz", [1.0, 0.0, 3.0]) for _ in range(MANY))
    assert counts["y"] == 0
    assert counts["z"] / counts["x"] == pytest.approx(3.0, rel=0.07)


def test_shuffled_gives_every_order() -> None:
    draw = Draw("a", 3)
    counts = Counter(draw.shuffled("abc") for _ in range(6000))
    assert len(counts) == 6
    assert all(count == pytest.approx(1000, rel=0.15) for count in counts.values())


@pytest.mark.parametrize(
    ("kind", "arguments", "mean", "deviation"),
    [
        ("uniform", (2.0, 4.0), 3.0, 2.0 / 12**0.5),
        ("exponential", (5.0,), 5.0, 5.0),
        ("normal", (1.0, 0.5), 1.0, 0.5),
        ("log_normal", (3.0, 0.5), 3.0, 3.0 * (2.718281828**0.25 - 1) ** 0.5),
    ],
)
def test_distributions_have_their_moments(
    kind: str, arguments: tuple[float, ...], mean: float, deviation: float
) -> None:
    draw = Draw("a", 4)
    values = [getattr(draw, kind)(*arguments) for _ in range(MANY)]
    assert statistics.mean(values) == pytest.approx(mean, rel=0.03)
    assert statistics.stdev(values) == pytest.approx(deviation, rel=0.05)
