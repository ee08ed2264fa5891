"""What a sweep searches: sane ranges from types and defaults, narrowed by the user."""

from typing import Any

import pytest

from longshore.agents import LEARNERS
from longshore.agents.ranges import COUNT, declared
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.training.run.plan import Plan
from longshore.training.search.space import Domain, Space, make_space


class Extreme:
    """An Optuna trial that always draws one end."""

    def __init__(self, is_high: bool) -> None:
        self.is_high = is_high

    def suggest_float(self, _name: str, low: float, high: float, *, log: bool = False) -> float:
        assert low > 0 or not log
        return high if self.is_high else low

    def suggest_int(self, _name: str, low: int, high: int, *, log: bool = False) -> int:
        assert low > 0 or not log
        return high if self.is_high else low

    def suggest_categorical(self, _name: str, choices: list[Any]) -> Any:
        return choices[-1 if self.is_high else 0]


def domain(space: Space, name: str) -> Domain:
    return {one.name: one for one in space.domains}[name]


def ends(space: Space, name: str) -> tuple[Any, Any]:
    found = domain(space, name)
    return found.suggest(Extreme(False)), found.suggest(Extreme(True))


@pytest.mark.parametrize("learner", LEARNERS.names())
def test_space_of_every_learner_builds_at_both_ends_and_holds_the_defaults(learner: str) -> None:
    space = make_space(Plan(learner=learner, guide="best-fit"))
    for is_high in (False, True):
        space.suggest(Extreme(is_high)).build_learner()
    assert space.defaults() is not None
    own = declared(LEARNERS.load(learner))
    assert [one.name for one in space.domains if (own[one.name].range or COUNT).is_budget] == []


def test_rates_are_searched_by_factors_and_never_above_one() -> None:
    space = make_space(Plan(learner="qtable"))
    assert ends(space, "learning_rate") == pytest.approx((0.1, 1.0))
    assert domain(space, "learning_rate").scale == "log"


def test_what_is_close_to_one_is_searched_by_its_distance() -> None:
    space = make_space(Plan(learner="ppo"))
    assert sorted(ends(space, "discount")) == pytest.approx([0.7, 0.997])
    assert domain(space, "discount").label == "1-discount"


def test_sizes_are_searched_in_steps_of_two_and_stay_whole() -> None:
    space = make_space(Plan(learner="dqn"))
    assert ends(space, "batch") == (64, 1024)
    assert ends(space, "horizon") == (1, 12)


def test_a_range_bounds_what_is_searched() -> None:
    assert ends(make_space(Plan(learner="qtable")), "lookahead") == (1, 2)


def test_switches_and_choices_are_searched_whole() -> None:
    assert domain(make_space(Plan(learner="dqn")), "double").choices == (False, True)
    assert domain(make_space(Plan(learner="qtable")), "resource").choices == ("memory", "cpu")


def test_what_only_matters_with_a_guide_is_searched_only_with_one() -> None:
    names = {one.name for one in make_space(Plan(learner="dqn")).domains}
    assert "guide_share" not in names
    assert domain(make_space(Plan(learner="dqn", guide="best-fit")), "guide_share")


def test_search_narrows_a_range() -> None:
    space = make_space(Plan(learner="dqn"), ["learning-rate=1e-4:1e-2", "batch=64,256", "discount=0.9:0.99"])
    assert ends(space, "learning_rate") == (1e-4, 1e-2)
    assert domain(space, "batch").choices == (64, 256)
    assert sorted(ends(space, "discount")) == pytest.approx([0.9, 0.99])


def test_search_takes_budgets_and_the_network_when_asked() -> None:
    space = make_space(Plan(), ["steps=1000:2000", "network.width=16:64"], has_only_searched=True)
    assert [one.name for one in space.domains] == ["steps", "network.width"]
    plan = space.suggest(Extreme(True))
    assert plan.learner_config == {"steps": 2000}
    assert plan.network_config == {"width": 64}


def test_fixed_hyperparameters_are_set_and_not_searched() -> None:
    space = make_space(Plan(learner="dqn"), fix=["batch=128", "double=false"])
    assert space.base.learner_config == {"batch": 128, "double": False}
    assert not {"batch", "double"} & {one.name for one in space.domains}


def test_search_is_around_what_the_plan_sets() -> None:
    space = make_space(Plan(learner="ppo", learner_config={"learning_rate": 1e-4}))
    assert ends(space, "learning_rate") == pytest.approx((1e-5, 1e-3))


def test_defaults_outside_of_the_space_are_said_to_be() -> None:
    assert make_space(Plan(learner="ppo"), ["learning_rate=1e-5:1e-4"]).defaults() is None


@pytest.mark.parametrize(
    ("search", "fix", "message"),
    [
        (["learning_rate"], [], "expected `--search name="),
        (["learning_rate=1:2:3"], [], "expected `low:high`"),
        (["learning_rate=1e-2:1e-4"], [], "with low below high"),
        (["learning_rate=a:b"], [], "expected a number"),
        (["batch=1.5:3"], [], "expected a whole number"),
        (["learning_rate=nan:1"], [], "expected a finite number"),
        (["double=0:1"], [], "got the range"),
        (["double=maybe"], [], "expected `true` or `false`"),
        (["batch=1:2"], ["batch=1"], "got both"),
    ],
)
def test_ranges_that_cannot_be_read_are_refused(search: list[str], fix: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_space(Plan(learner="dqn"), search, fix)


def test_unknown_hyperparameters_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `learning_rate`"):
        make_space(Plan(learner="ppo"), ["learnig_rate=1:2"])


def test_nothing_to_search_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to search"):
        make_space(Plan(), has_only_searched=True)
