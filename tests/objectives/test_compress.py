"""`compress`: the sum of squares of use."""

import pytest

from longshore.core.words.errors import InputError
from longshore.objectives.compress import Compress
from objectives.clusters import node, spec, transition

NODES = [node("a"), node("b"), node("nothing", 0, 0)]
ON = {"a": [spec(300, 500)], "b": [spec(100, 200)]}


def test_compress_sums_squares_of_memory() -> None:
    assert Compress().reward(transition(NODES, ON, "a")) == pytest.approx(0.6**2 + 0.2**2)
    assert Compress().reward(transition(NODES, ON, "b")) == pytest.approx(0.5**2 + 0.3**2)


def test_compress_takes_another_resource_and_exponent() -> None:
    step = transition(NODES, ON, "a")
    assert Compress(exponent=3.0, resource="cpu").reward(step) == pytest.approx(0.4**3 + 0.1**3)


@pytest.mark.parametrize("exponent", [0.0, -1.0, float("nan"), 17.0])
def test_compress_refuses_exponents_that_mean_nothing(exponent: float) -> None:
    with pytest.raises(InputError, match=r"compress.*expected more than 0"):
        Compress(exponent=exponent)
