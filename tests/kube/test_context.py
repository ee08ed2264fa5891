"""Objects around pods to our words (dumps, in `test_dump.py`, cover what they share with a watch)."""

import pytest

from longshore.core.words.errors import ObjectError
from longshore.core.words.labels import Requirement, Selector
from longshore.kube import context, wire

IDENTITY = context.ObjectIdentity("policy/v1", "PodDisruptionBudget", "team", "budget")


def budget(selector: wire.LabelSelector | None, **status: object) -> context.DisruptionBudget:
    source = wire.PodDisruptionBudget(
        spec=wire.DisruptionBudgetSpec(selector), status=wire.DisruptionBudgetStatus(**status)
    )
    return context.disruption_budget(source, IDENTITY)


def test_budget_has_its_selector_and_what_it_allows() -> None:
    found = budget(wire.LabelSelector({"app": "x"}), disruptions_allowed=2, disrupted_pods={"a": b"1"})
    selector = Selector((Requirement("app", "In", ("x",)),))
    assert found == context.DisruptionBudget("team", "budget", selector, 2, frozenset({"a"}))


def test_budget_without_a_selector_has_none() -> None:
    assert budget(None).selector is None
    assert budget(wire.LabelSelector()).selector == Selector()


def test_budget_with_an_unknown_operator_is_refused() -> None:
    odd = wire.LabelSelector(match_expressions=[wire.SelectorRequirement("k", "Perhaps")])
    with pytest.raises(ObjectError, match=r"PodDisruptionBudget `team/budget`: field `spec.selector`: .*Perhaps"):
        budget(odd)


def test_objects_without_a_namespace_are_called_by_their_name() -> None:
    assert context.ObjectIdentity("v1", "Namespace", "", "a").full_name == "a"
    assert IDENTITY.full_name == "team/budget"
