"""Bars, amounts, curves and cells."""

import pytest
from rich.cells import cell_len

from longshore.dashboard.top.text import amount_of_bytes, bar, cell, cores, curve, level, percent


@pytest.mark.parametrize(
    ("ratio", "want"), [(0, ""), (0.001, "╸"), (0.5, "━━━━━"), (0.55, "━━━━━╸"), (1, "━" * 10), (3.0, "━" * 10)]
)
def test_bar_fills_in_halves(ratio: float, want: str):
    filled, track = bar(ratio, 10)
    assert filled.text == want
    assert len(filled.text + track.text) == 10


@pytest.mark.parametrize(("ratio", "want"), [(0.5, "fine"), (0.8, "high"), (0.95, "full"), (2.0, "full")])
def test_level_names_how_full_it_is(ratio: float, want: str):
    assert level(ratio) == want


@pytest.mark.parametrize(("ratio", "want"), [(0, "  0%"), (0.005, "  1%"), (1.0, "100%"), (55.0, "999%")])
def test_percent_has_four_characters(ratio: float, want: str):
    assert percent(ratio) == want


@pytest.mark.parametrize(("millis", "want"), [(0, "0"), (250, "0.2"), (1500, "1.5"), (64000, "64"), (123456, "123")])
def test_cores_are_short(millis: int, want: str):
    assert cores(millis) == want


@pytest.mark.parametrize(
    ("number", "want"),
    [(0, "0B"), (1536, "1.5Ki"), (64 * 1024**3, "64Gi"), (300 * 1024**2 + 1, "300Mi"), (2**63, "8Ei")],
)
def test_bytes_have_binary_units(number: int, want: str):
    assert amount_of_bytes(number) == want


def test_curve_is_as_high_as_its_highest_and_never_empty():
    assert curve([0, 1, 8, 4], 4) == "▁▁█▄"
    assert curve([0, 0, 0], 2) == "▁▁"


@pytest.mark.parametrize("text", ["", "short", "exactly-10", "longer than that", "日本語の名前です", "bell\x07"])
@pytest.mark.parametrize("width", [0, 1, 10])
def test_cell_is_exactly_as_wide_as_its_column(text: str, width: int):
    got = cell(text, width)
    assert cell_len(got) == width
    assert got.isprintable()


def test_cell_says_that_it_was_cut():
    assert cell("worker-0001", 8) == "worker-…"


def test_cell_can_stand_right():
    assert cell("7", 3, is_right=True) == "  7"
