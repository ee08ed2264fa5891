"""Scopes say what can change a value."""

import pytest

from longshore.core.words.scope import Scope


@pytest.mark.parametrize("scope", Scope)
def test_scope_of_other_nodes_changes_with_pods(scope: Scope) -> None:
    assert scope.changes_with_pods or scope.is_of_one_node


def test_scope_says_where_one_value_serves_all_nodes() -> None:
    assert [scope for scope in Scope if scope.is_one_value] == [Scope.POD, Scope.CLUSTER]


def test_scope_says_what_a_placement_can_change() -> None:
    assert [scope for scope in Scope if scope.changes_with_pods] == [Scope.PODS, Scope.CLUSTER, Scope.OTHERS]
