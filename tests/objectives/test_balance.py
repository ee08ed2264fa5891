"""`balance`: the sum of square roots of use."""

import pytest

from longshore.core.words.errors import InputError
from longshore.objectives.balance import Balance
from objectives.clusters import node, spec, transition

NODES = [node("a"), node("b")]
ON = {"a": [spec(300, 500)]}


def test_balance_prefers_the_emptier_node() -> None:
    together, apart = transition(NODES, ON, "a"), transition(NODES, ON, "b")
    assert Balance().reward(together) == pytest.approx(0.6**0.5)
    assert Balance().reward(apart) == pytest.approx(0.5**0.5 + 0.1**0.5)


def test_balance_refuses_exponents_that_mean_nothing() -> None:
    with pytest.raises(InputError, match="balance"):
        Balance(exponent=0.0)
