"""Repeats put together: medians, ratios of pairs, and what is refused."""

import math
from dataclasses import replace

import pytest

from longshore.core.words.errors import InputError, UnknownNameError
from longshore_lab.speed.cluster import SpeedOptions, cells, check, described, pairs, rankings, sizes
from longshore_lab.speed.cluster_metrics import Histogram
from longshore_lab.speed.cluster_run import Measurement

STEPS = Histogram((0.001, 0.002, math.inf), (0, 100, 100))


def ours(seconds: float, *latencies_ms: float) -> Measurement:
    return Measurement("standalone", 10, 100, seconds, seconds / 2, 0.1, 7, latencies_ms=latencies_ms or (1.0,))


def plugin(seconds: float, mode: str = "plugin", num_fallbacks: int = 0) -> Measurement:
    return Measurement(
        mode, 10, 100, seconds, seconds, 0.1, 7, durations=STEPS, rankings=STEPS, num_fallbacks=num_fallbacks
    )


def stock(seconds: float, durations: Histogram = STEPS) -> Measurement:
    return Measurement("stock", 10, 100, seconds, seconds, 0.1, 7, durations=durations)


def test_cells_take_the_median_speed_and_all_decisions():
    runs = [ours(1.0, 1.0, 2.0), ours(2.0, 3.0), ours(4.0, 4.0, 5.0)]
    (cell,) = cells(runs)
    assert cell == ("standalone", 10, 100, 50.0, 3.0, 5.0, 3)


def test_cells_of_stock_add_their_histograms():
    late = Histogram((0.001, 0.002, math.inf), (0, 0, 900))
    (cell,) = cells([stock(1.0), stock(1.0, late)])
    assert cell.decision_p50_ms == 2.0


def test_cells_stand_by_size_and_mode():
    assert [cell.mode for cell in cells([ours(1.0), stock(1.0)])] == ["stock", "standalone"]


def test_pairs_compare_run_by_run():
    runs = [stock(2.0), ours(1.0), ours(1.0), stock(4.0), stock(3.0), ours(1.0)]
    (pair,) = pairs(runs)
    assert (pair.mode, pair.against, pair.nodes) == ("standalone", "stock", 10)
    assert pair.ratios == pytest.approx((2.0, 4.0, 3.0))
    assert (pair.ratio, pair.least) == pytest.approx((3.0, 2.0))
    assert pair.binding_ratio == pytest.approx(6.0)


def test_pairs_compare_every_mode_of_ours():
    found = pairs([stock(2.0), plugin(1.0), plugin(4.0, "plugin-fallback"), ours(1.0)])
    assert [(pair.mode, pair.ratio) for pair in found] == [
        ("plugin", pytest.approx(2.0)),
        ("plugin-fallback", pytest.approx(0.5)),
        ("standalone", pytest.approx(2.0)),
    ]


def test_rankings_put_the_repeats_of_the_plugin_together():
    quick = Histogram((0.001, 0.002, math.inf), (100, 100, 100))
    with_bundle = [replace(plugin(seconds), cpu_durations=quick) for seconds in (1.0, 2.0)]
    runs = [stock(1.0), *with_bundle, plugin(1.0, "plugin-fallback", 100), ours(1.0)]
    assert rankings(runs) == [
        ("plugin", 10, 1.5, 1.99, 0.99, 200, 0),
        ("plugin-fallback", 10, 1.5, 1.99, None, 100, 100),
    ]


def test_pairs_need_both_sides():
    assert pairs([stock(1.0)]) == []
    assert pairs([ours(1.0)]) == []


def test_described_names_what_was_measured():
    assert "standalone, 10 nodes, 100 pods: 50 pods/s" in described(ours(2.0))


def test_described_names_the_plugins_share():
    assert "PreScore p50 1.50 ms" in described(plugin(2.0))
    assert "PreScore" not in described(stock(2.0))


def test_sizes_are_numbers_between_commas():
    assert sizes("10, 100,1000") == [10, 100, 1000]
    with pytest.raises(InputError, match="got the sizes `10,x`"):
        sizes("10,x")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (SpeedOptions(modes=("stock", "quick")), UnknownNameError),
        (SpeedOptions(modes=("stock", "stock")), InputError),
        (SpeedOptions(modes=()), InputError),
        (SpeedOptions(nodes=(0,)), InputError),
        (SpeedOptions(nodes=()), InputError),
    ],
)
def test_check_refuses(options: SpeedOptions, error: type[Exception]):
    with pytest.raises(error):
        check(options)
