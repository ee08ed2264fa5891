"""`carbon`: grams per hour from watts, nodes and the grid's series."""

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.node import NodePower
from longshore.objectives.base import Transition
from longshore.objectives.carbon import Carbon
from objectives.clusters import node, spec, transition

NODES = [
    node("a", power=NodePower((100.0, 300.0)), carbon_grams_per_kwh=400.0),
    node("b", power=NodePower((50.0, 150.0)), carbon_grams_per_kwh=20.0),
]
SERIES = ((0.0, 100.0), (60.0, 10.0), (120.0, 1.0))


def at_step(number: int) -> Transition:
    """a draws 200 W and b, idle, 50 W; `number` pods were placed."""
    step = transition(NODES, {"a": [spec(400)]}, "a", padded_nodes=4)
    return step._replace(after=step.after._replace(state=step.after.state._replace(step=np.uint32(number))))


def test_carbon_weighs_watts_by_each_nodes_grid() -> None:
    assert Carbon().reward(at_step(1)) == pytest.approx(-(0.2 * 400 + 0.05 * 20))
    assert Carbon(switch_off_idle=True).reward(at_step(1)) == pytest.approx(-(0.2 * 400))


@pytest.mark.parametrize(
    ("number", "grams"),
    [
        pytest.param(0, 100.0, id="the first point"),
        pytest.param(5, 100.0, id="50 seconds: it still holds"),
        pytest.param(6, 10.0, id="60 seconds: the second begins"),
        pytest.param(1000, 1.0, id="long after: the last holds"),
    ],
)
def test_carbon_reads_the_series_at_the_time_of_the_step(number: int, grams: float) -> None:
    carbon = Carbon(series=SERIES, step_seconds=10.0)
    assert carbon.reward(at_step(number)) == pytest.approx(-0.25 * grams)


def test_carbon_repeats_the_series_by_its_period() -> None:
    carbon = Carbon(series=SERIES, step_seconds=10.0, period_seconds=180.0)
    assert carbon.reward(at_step(18 + 6)) == carbon.reward(at_step(6)) == pytest.approx(-2.5)


def test_carbon_before_the_first_point_takes_the_first() -> None:
    assert Carbon(series=((30.0, 7.0), (60.0, 1.0))).reward(at_step(1)) == pytest.approx(-0.25 * 7)


def test_carbon_with_a_relative_series_scales_the_nodes_own() -> None:
    carbon = Carbon(series=((0.0, 0.5),), series_kind="relative")
    assert carbon.reward(at_step(1)) == pytest.approx(-0.5 * (0.2 * 400 + 0.05 * 20))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"series": ((60.0, 1.0), (0.0, 2.0))}, "later than the one before"),
        ({"series": ((0.0, -1.0),)}, "0 or more"),
        ({"series": ((0.0, float("nan")),)}, "finite"),
        ({"step_seconds": 0.0}, "step_seconds"),
        ({"period_seconds": -1.0}, "period_seconds"),
    ],
)
def test_carbon_refuses_series_that_cannot_be_read(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Carbon(**parameters)
