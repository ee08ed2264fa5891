"""Tests of numbers and names as people read them."""

import pytest

from longshore.core.words.text import number, quantity, shorten

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (0.0, "0"),
        (118.63, "118.6"),
        (1.5, "1.5"),
        (-0.0213, "-0.0213"),
        (45_490.0, "45,490"),
        (1_234_567.8, "1,234,568"),
        (0.0000213, "2.13e-5"),
        (NAN, "-"),
        (float("inf"), "-"),
    ],
)
def test_number_has_four_digits_that_count(value: float, want: str) -> None:
    assert number(value) == want


@pytest.mark.parametrize(
    ("value", "unit", "want"),
    [
        (408.43, "W", "408 W"),
        (45_490.0, "W", "45.5 kW"),
        (4_549_000.0, "W", "4.55 MW"),
        (0.0, "W", "0 W"),
        (0.0321, "kWh", "32.1 Wh"),
        (12_345.0, "kWh", "12.3 MWh"),
        (19.21, "ms", "19.21"),
        (NAN, "W", "-"),
    ],
)
def test_quantity_scales_power_and_energy(value: float, unit: str, want: str) -> None:
    assert quantity(value, unit) == want


def test_quantity_has_its_interval_in_the_same_unit() -> None:
    assert quantity(1_010.0, "W", 990.0, 1_050.0) == "1.01 kW [0.99, 1.05]"


def test_shorten_leaves_short_names_alone() -> None:
    assert shorten(["worker-1", "worker-2"], 12) == {"worker-1": "worker-1", "worker-2": "worker-2"}


def test_shorten_keeps_both_ends_where_they_tell_names_apart() -> None:
    assert shorten(["gke-prod-pool-1-8f3a2b1c-x7zq", "gke-prod-pool-1-8f3a2b1c-k2mm"], 13) == {
        "gke-prod-pool-1-8f3a2b1c-x7zq": "gke-pr…c-x7zq",
        "gke-prod-pool-1-8f3a2b1c-k2mm": "gke-pr…c-k2mm",
    }


def test_shorten_keeps_the_end_in_which_names_differ() -> None:
    names = [f"ip-10-0-1-{number}.eu-central-1.compute.internal" for number in range(100, 120)]
    found = shorten(names, 15)
    assert found[names[7]] == "ip-10-0-1-107.…"
    assert len(set(found.values())) == len(names)


def test_shorten_takes_more_characters_where_names_would_be_alike() -> None:
    names = [f"{'a' * 20}{middle}{'z' * 20}" for middle in "bc"]
    found = shorten(names, 10)
    assert found[names[0]] != found[names[1]]
    assert all(len(short) < len(name) for name, short in found.items())


def test_shorten_makes_no_name_into_another() -> None:
    found = shorten(["aaaa…zzzz", "aaaabbbbbzzzz"], 9)
    assert len(set(found.values())) == 2
