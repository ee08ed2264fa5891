"""`--prices` and `--power-models`."""

from pathlib import Path

import pytest

from longshore.cli.rates import read_rates
from longshore.core.words.errors import InputError
from longshore.core.words.rates import Rates


def test_without_files_nothing_is_said() -> None:
    assert read_rates(None, None) == Rates()


def test_files_are_read_and_refused_by_their_names(tmp_path: Path) -> None:
    prices, power = tmp_path / "prices.yaml", tmp_path / "power.yaml"
    prices.write_text("{currency: EUR, types: {a: 1}}")
    power.write_text("types: {a: [1, 2]}")
    found = read_rates(prices, power)
    assert found.currency == "EUR"
    assert found.prices.find("a") is not None and found.power.find("a") is not None
    with pytest.raises(InputError, match=r"power\.yaml"):
        read_rates(power, None)
    with pytest.raises(InputError, match="nowhere"):
        read_rates(None, tmp_path / "nowhere")
