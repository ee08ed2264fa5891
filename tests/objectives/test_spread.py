"""`spread`: minus the highest use of CPU or memory."""

import pytest

from longshore.objectives.spread import Spread
from objectives.clusters import node, spec, transition


@pytest.mark.parametrize(("to", "want"), [("a", -0.5), ("b", -0.8)])
def test_spread_is_the_highest_share_of_either_resource(to: str, want: float) -> None:
    # a: 40 % CPU; b: 70 % memory before the placement where it goes there, 20 % where it does not.
    on = {"a": [spec(400, 0)], "b": [spec(0, 700 if to == "b" else 200)]}
    assert Spread().reward(transition([node("a"), node("b")], on, to, padded_nodes=3)) == pytest.approx(want)
