"""Flags made of fields: every command that trains has those of a plan, and what is given there is in the plan."""

import dataclasses
import inspect
from typing import Any

import pytest

from longshore.cli.flags import make_plan, plan_flags, unit_flags, with_flags
from longshore.core.words.errors import UnknownNameError
from longshore.training.run.plan import Flag, Plan


def command(name: str, size: int = 3, *, is_loud: bool = False, **flags: Any) -> None:
    """Say something."""
    SEEN.append({"name": name, "size": size, "is_loud": is_loud, **flags})


SEEN: list[dict[str, Any]] = []


def test_plan_flags_are_the_fields_that_say_so() -> None:
    hints = inspect.get_annotations(Plan)
    want = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    assert {name: Flag(**(one.words or {})) for name, one in plan_flags().items()} == want


def test_plan_flags_have_the_defaults_of_the_plan() -> None:
    defaults = {one.name: one.default for one in dataclasses.fields(Plan)}
    found = {name: one.default for name, one in plan_flags().items() if name != "workload_config"}
    assert found == {name: defaults[name] for name in found}
    assert len(found) >= 13


def test_with_flags_puts_them_behind_the_arguments() -> None:
    names = list(inspect.signature(with_flags(command, unit_flags("ppo", "gnn"))).parameters)
    assert names[:2] == ["name", "learner__steps"]
    assert names.index("network__rounds") < names.index("network") < names.index("limit") < names.index("size")
    assert "flags" not in names


def test_with_flags_gives_what_is_fixed() -> None:
    made = with_flags(command, name="mine")
    assert "name" not in inspect.signature(made).parameters
    made(size=4, seed=1)
    assert SEEN.pop() == {"name": "mine", "size": 4, "is_loud": False, "seed": 1}


def test_a_plan_without_flags_is_the_plan_of_the_learner() -> None:
    assert make_plan("dqn", "default", None, {"network": None, "seed": None}) == Plan(learner="dqn")


def test_a_plan_has_what_was_given() -> None:
    flags = {"learner__steps": 7, "network__rounds": 1, "network": "gnn", "workload_config": ["cycles=2"], "seed": 3}
    want = Plan("dqn", "gnn", {"steps": 7}, {"rounds": 1}, workload_config={"cycles": 2, "nodes": 5}, seed=3)
    assert make_plan("dqn", "default", 5, flags) == want


def test_a_preset_gives_way_to_flags() -> None:
    found = make_plan("dqn", "energy-seed", None, {"learner__batch": 8, "network__layers": 1})
    assert (found.network, found.network_config) == ("mlp", {"width": 128, "layers": 1})
    assert (found.learner_config["batch"], found.learner_config["memory"]) == (8, 50_000)
    assert make_plan("dqn", "energy-seed", None, {"network": "gnn"}).network_config == {}


@pytest.mark.parametrize(
    ("learner", "flags", "want"),
    [("pppo", {}, "`ppo`"), ("ppo", {"network": "gnnn"}, "`gnn`"), ("ppo", {"workload": "tst1"}, "`test1`")],
)
def test_a_name_that_is_not_known_is_answered_with_the_nearest(learner: str, flags: dict[str, Any], want: str) -> None:
    with pytest.raises(UnknownNameError, match=f"did you mean {want}"):
        make_plan(learner, "default", None, flags)
