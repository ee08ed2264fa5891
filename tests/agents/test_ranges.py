"""Ranges are read from the fields of a class, those of the classes that it builds on too."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest

from longshore.agents.ranges import AMOUNT, BUDGET, COUNT, SHARE, Declared, Range, declared


@dataclass(frozen=True)
class Older:
    steps: Annotated[int, BUDGET] = 10
    share: Annotated[float, SHARE] = 0.5


@dataclass(frozen=True)
class Newer(Older):
    takes_guide: ClassVar[bool] = True
    share: Annotated[float, Range(0.1, 0.2)] = 0.1
    size: int = 3
    rate: float = 0.1
    is_double: bool = False
    resource: Literal["cpu", "memory"] = "cpu"


def test_declared_has_every_field_with_its_own_range() -> None:
    assert declared(Newer) == {
        "steps": Declared(int, 10, BUDGET),
        "share": Declared(float, 0.1, Range(0.1, 0.2)),
        "size": Declared(int, 3, COUNT),
        "rate": Declared(float, 0.1, AMOUNT),
        "is_double": Declared(bool, False, None),
        "resource": Declared(Literal["cpu", "memory"], "cpu", None),
    }


@pytest.mark.parametrize(
    ("allowed", "want"), [(Range(2), "2 or more"), (Range(0, 1), "0 to 1"), (Range(0, math.inf), "0 or more")]
)
def test_range_says_itself(allowed: Range, want: str) -> None:
    assert str(allowed) == want
