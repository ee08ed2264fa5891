"""Disruption budgets as preemption reads them."""

import pytest

from longshore.core.words.labels import Requirement, Selector
from longshore.deciding.budgets import violating
from longshore.kube.context import DisruptionBudget
from support.builders import make_pod

APP = Selector((Requirement("app", "In", ("x",)),))
POD = make_pod("a").label("app", "x").build()


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        (DisruptionBudget("default", "b", APP, 0), True),
        (DisruptionBudget("other", "b", APP, 0), False),
        (DisruptionBudget("default", "b", Selector((Requirement("app", "In", ("y",)),)), 0), False),
        (DisruptionBudget("default", "b", Selector(), 0), False),
        (DisruptionBudget("default", "b", None, 0), False),
        (DisruptionBudget("default", "b", Selector((Requirement("app", "Nonsense"),)), 0), False),
        (DisruptionBudget("default", "b", APP, 0, frozenset({"a"})), False),
        (DisruptionBudget("default", "b", APP, 1), False),
    ],
)
def test_a_pod_is_protected_by_a_used_up_budget_that_covers_it(budget: DisruptionBudget, want: bool):
    assert violating([POD], [budget]) == [want]


def test_a_pod_without_labels_is_under_no_budget():
    everything = Selector((Requirement("app", "DoesNotExist"),))
    assert violating([make_pod("plain").build()], [DisruptionBudget("default", "b", everything, 0)]) == [False]


def test_budgets_count_down_pod_by_pod():
    pods = [make_pod(name).label("app", "x").build() for name in "abc"]
    assert violating(pods, [DisruptionBudget("default", "b", APP, 2)]) == [False, False, True]
