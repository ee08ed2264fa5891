"""Tests of making a workload from its name and parameters."""

import pytest

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.workloads.build import build_workload
from longshore.workloads.poisson import Poisson
from longshore.workloads.test2 import Test2


def test_parameters_may_be_text() -> None:
    assert build_workload("poisson", {"nodes": "4", "load": "0.5", "pods": 7}) == Poisson(nodes=4, load=0.5, pods=7)
    assert build_workload("test2", {"variant": "el-rl"}) == Test2(variant="el-rl")


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `poisson`"):
        build_workload("poison", {})
    with pytest.raises(UnknownNameError, match="did you mean `nodes`"):
        build_workload("poisson", {"node": 3})


@pytest.mark.parametrize(
    ("parameters", "want"),
    [
        ({"nodes": "many"}, "workload `poisson`: `nodes` is `many`: Expected `int`, got `str`"),
        ({"nodes": 0}, "workload `Poisson`: got nodes `0`, expected 1 or more"),
    ],
)
def test_wrong_values_are_refused(parameters: dict[str, object], want: str) -> None:
    with pytest.raises(InputError, match=want):
        build_workload("poisson", parameters)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(InputError, match="Invalid enum value 'elrl'"):
        build_workload("test2", {"variant": "elrl"})
