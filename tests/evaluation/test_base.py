"""Bounds and their means."""

from longshore.core.words.errors import InputError
from longshore.evaluation.base import Bound, mean_bound, missing


def test_the_mean_is_exact_only_if_all_are() -> None:
    first, second = Bound("reward", 1.0, "dp", is_exact=True, is_reached=True), Bound("reward", 3.0, "beam(8)")
    assert mean_bound([first, first]) == first
    assert mean_bound([first, second]) == Bound("reward", 2.0, "dp or beam(8)")


def test_a_missing_bound_says_why() -> None:
    none = missing("reward", InputError("pods differ", "hint"))
    assert none.value is None and none.method == "none: pods differ"
    assert mean_bound([Bound("reward", 1.0, "dp"), none]) == none
