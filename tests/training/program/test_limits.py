"""Limits: how they are written, what a breach costs, and a price that follows how well they are kept."""

import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.training.program.limits import HIGHEST_MULTIPLIER, NO_LIMIT, Limit, parse_limit
from support import jax_arrays  # noqa: F401

LATENCIES = jnp.array([10.0, 25.0, 25.5, 50.0, jnp.nan])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("p99_latency_ms<=25", Limit(25.0, 0.99)),
        (" p99.9_latency_ms <= 12.5 ", Limit(12.5, 0.999)),
        ("mean_latency_ms<=18", Limit(18.0, None)),
        ("", NO_LIMIT),
        ("  ", NO_LIMIT),
    ],
)
def test_a_limit_is_read(text: str, want: object) -> None:
    found = parse_limit(text)
    assert type(found) is type(want)
    assert found.allowed == pytest.approx(want.allowed)  # type: ignore[attr-defined]
    assert found == want or found.quantile == pytest.approx(want.quantile)  # type: ignore[attr-defined, union-attr]


@pytest.mark.parametrize("text", ["p99_latency<=25", "p100_latency_ms<=25", "mean_latency_ms>=3", "p99_latency_ms<=0"])
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="got the limit") as raised:
        parse_limit(text)
    assert "p99_latency_ms<=25" in str(raised.value)


def test_a_quantile_costs_one_for_each_placement_beyond() -> None:
    assert Limit(25.0, 0.99).cost(LATENCIES).tolist() == [0, 0, 1, 1, 0]


def test_a_mean_costs_by_how_far_it_is_off_on_both_sides() -> None:
    np.testing.assert_allclose(Limit(25.0, None).cost(LATENCIES), [-0.6, 0, 0.02, 1.0, 0.0])


@pytest.mark.parametrize("limit", [Limit(25.0, 0.9), Limit(25.0, None)])
def test_the_price_rises_while_the_limit_is_broken_and_falls_when_it_is_kept(limit: Limit) -> None:
    broken, kept = limit.allowed + 0.2, -0.2 if limit.quantile is None else 0.0
    start = jnp.float32(1.0)
    risen = limit.follow(start, jnp.asarray(broken))
    assert risen > start
    assert limit.follow(risen, jnp.asarray(broken)) > risen
    assert limit.follow(start, jnp.asarray(kept)) < start


def test_the_price_stays_within_bounds() -> None:
    limit = Limit(25.0, 0.99)
    assert limit.follow(jnp.float32(0.0), jnp.float32(0.0)) == 0.0
    assert limit.follow(jnp.float32(HIGHEST_MULTIPLIER), jnp.float32(1.0)) == HIGHEST_MULTIPLIER


def test_no_limit_costs_nothing_and_has_no_price() -> None:
    assert NO_LIMIT.cost(LATENCIES).tolist() == [0.0] * 5
    assert NO_LIMIT.follow(jnp.float32(0.5), jnp.float32(9.0)) == 0.5


def test_a_limit_that_is_kept_by_chance_alone_counts_as_broken() -> None:
    limit, placed = Limit(25.0, 0.9), jnp.full(10, 100)
    even = jnp.full(10, 9.0)
    uneven = jnp.array([0.0, 18.0] * 5)
    assert limit.breach(even, placed) == 0.0
    # The same mean, below what is allowed; but with such traces it could as well be above.
    assert limit.breach(uneven, placed) == pytest.approx(0.09 + 2 * 0.09 / 3 - 0.1, rel=1e-5)


def test_a_breach_is_how_far_beyond_and_falls_with_the_number_of_traces() -> None:
    limit, uneven = Limit(25.0, 0.9), jnp.array([0.0, 40.0] * 5)
    few = limit.breach(uneven, jnp.full(10, 100))
    many = limit.breach(jnp.tile(uneven, 10), jnp.full(100, 100))
    assert few > many > 0.1


def test_no_limit_is_never_broken() -> None:
    assert NO_LIMIT.breach(jnp.ones(3), jnp.ones(3)) == 0.0
