"""`--prices` and `--power-models`: what machines cost and draw by their instance type."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.files import read_bytes

if TYPE_CHECKING:
    from longshore.core.words.rates import Rates

PricesOption = Annotated[
    Path | None,
    typer.Option(help="Prices by instance type, YAML: `types: {m5.large: {on-demand: 0.096, spot: 0.035}}`."),
]
PowerModelsOption = Annotated[
    Path | None,
    typer.Option(help="Watts by instance type, YAML: `types: {m5.large: {idle: 6, full: 19}}`."),
]


def read_rates(prices: Path | None, power_models: Path | None) -> "Rates":
    """Read the files that are given.

    Raises:
        InputError: a file cannot be read, or is something else.
    """
    from longshore.core.words.rates import ByType, Rates, read_power, read_prices

    found, currency = (ByType(), "") if prices is None else read_prices(read_bytes(str(prices)), str(prices))
    power = ByType() if power_models is None else read_power(read_bytes(str(power_models)), str(power_models))
    return Rates(found, power, currency)
