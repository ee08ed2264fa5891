"""Writes per pod: the ratio to stock. `commands/test_bench.py` measures for real."""

from collections import Counter

import pytest

from longshore_lab.speed.writes import row

STOCK = Counter({"create pods/binding": 100, "create events": 150, "patch pods/status": 50})


def test_the_reference_has_a_ratio_of_one() -> None:
    found = row("stock-sampled", STOCK, STOCK)
    assert (found.bound, found.per_pod, found.ratio, found.is_met) == (100, 3.0, 1.0, True)


def test_what_counts_is_the_writes_for_each_pod_not_their_number() -> None:
    twice = Counter({what: 2 * number for what, number in STOCK.items()})
    assert row("plugin", twice, STOCK).ratio == pytest.approx(1.0)


def test_more_than_the_bar_is_not_met() -> None:
    assert row("plugin", STOCK + Counter({"create events": 50}), STOCK).is_met
    assert not row("plugin", STOCK + Counter({"create events": 70}), STOCK).is_met


def test_the_most_frequent_write_is_named_first() -> None:
    assert next(iter(row("plugin", STOCK, STOCK).what)) == "create events"
