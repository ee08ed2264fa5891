"""Tests of selectors and affinity from the wire: every operator, canonical order, matchLabelKeys, refusals."""

import msgspec
import pytest

from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import (
    AffinityTerm,
    NodePreference,
    NodeSelectorTerm,
    SpreadConstraint,
    WeightedAffinityTerm,
)
from longshore.kube import selectors, wire


def label_selector(text: str) -> wire.LabelSelector:
    return msgspec.json.decode(text, type=wire.LabelSelector)


def spread(text: str, **labels: str) -> SpreadConstraint:
    return selectors.spread_constraint(msgspec.json.decode(text, type=wire.TopologySpreadConstraint), labels)


def node_terms(text: str) -> tuple[NodeSelectorTerm, ...] | None:
    return selectors.node_terms(msgspec.json.decode(text, type=wire.NodeSelector))


def expression(key: str, operator: str, *values: str) -> str:
    return msgspec.json.encode({"key": key, "operator": operator, "values": list(values)}).decode()


def test_no_selector_stays_none() -> None:
    assert selectors.selector(None) is None
    assert selectors.set_selector(None) is None


@pytest.mark.parametrize("text", ["{}", '{"matchLabels": {}, "matchExpressions": []}'], ids=["absent", "empty"])
def test_a_selector_without_conditions_is_empty_and_not_none(text: str) -> None:
    assert selectors.selector(label_selector(text)) == Selector()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{"matchLabels": {"b": "2", "a": "1"}}', [("a", "In", ("1",)), ("b", "In", ("2",))], id="labels"),
        pytest.param(
            f'{{"matchExpressions": [{expression("a", "In", "y", "x")}]}}', [("a", "In", ("x", "y"))], id="in, sorted"
        ),
        pytest.param(
            f'{{"matchExpressions": [{expression("a", "NotIn", "x")}]}}', [("a", "NotIn", ("x",))], id="not in"
        ),
        pytest.param(f'{{"matchExpressions": [{expression("a", "Exists")}]}}', [("a", "Exists", ())], id="exists"),
        pytest.param(
            f'{{"matchExpressions": [{expression("a", "DoesNotExist")}]}}',
            [("a", "DoesNotExist", ())],
            id="does not exist",
        ),
        pytest.param(
            f'{{"matchLabels": {{"b": "1"}}, "matchExpressions": [{expression("a", "Exists")}]}}',
            [("a", "Exists", ()), ("b", "In", ("1",))],
            id="both kinds together",
        ),
    ],
)
def test_label_selectors_are_read_in_canonical_order(text: str, want: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert selectors.selector(label_selector(text)) == Selector(tuple(Requirement(*row) for row in want))


def test_equal_selectors_written_differently_are_equal() -> None:
    one = label_selector('{"matchLabels": {"a": "1", "b": "2"}}')
    other = label_selector(f'{{"matchExpressions": [{expression("b", "In", "2")}, {expression("a", "In", "1")}]}}')
    assert selectors.selector(one) == selectors.selector(other)


def test_a_plain_map_becomes_equalities() -> None:
    want = Selector((Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",))))
    assert selectors.set_selector({"b": "2", "a": "1"}) == want


@pytest.mark.parametrize(
    ("text", "want_message"),
    [
        pytest.param(
            expression("a", "Like", "x"), "operator `Like` for key `a`, expected one of `DoesNotExist`", id="unknown"
        ),
        pytest.param(
            expression("a", "Gt", "1"), "operator `Gt` for key `a`, expected one of", id="gt is for nodes only"
        ),
        pytest.param(expression("a", ""), "operator `` for key `a`", id="no operator"),
    ],
)
def test_label_selectors_refuse_operators_that_they_do_not_have(text: str, want_message: str) -> None:
    with pytest.raises(ValueError, match=want_message):
        selectors.selector(label_selector(f'{{"matchExpressions": [{text}]}}'))


def test_node_terms_keep_expressions_and_fields_apart() -> None:
    text = (
        f'{{"nodeSelectorTerms": [{{"matchExpressions": [{expression("cores", "Gt", "8")}],'
        f' "matchFields": [{expression("metadata.name", "In", "a")}]}}, {{}}]}}'
    )
    first = NodeSelectorTerm((Requirement("cores", "Gt", ("8",)),), (Requirement("metadata.name", "In", ("a",)),))
    assert node_terms(text) == (first, NodeSelectorTerm())


def test_no_node_affinity_is_not_the_same_as_none_of_its_terms() -> None:
    assert selectors.node_terms(None) is None
    assert node_terms("{}") == ()


@pytest.mark.parametrize("values", [(), ("1", "2")], ids=["without a value", "with two values"])
@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_comparisons_need_exactly_one_value(operator: str, values: tuple[str, ...]) -> None:
    text = f'{{"nodeSelectorTerms": [{{"matchExpressions": [{expression("cores", operator, *values)}]}}]}}'
    with pytest.raises(ValueError, match=f"operator `{operator}` for key `cores` needs exactly one value"):
        node_terms(text)


def test_node_preferences_keep_weight_and_order() -> None:
    wishes = [wire.PreferredNode(weight, wire.NodeSelectorTerm()) for weight in (5, 1)]
    want = (NodePreference(5, NodeSelectorTerm()), NodePreference(1, NodeSelectorTerm()))
    assert selectors.node_preferences(wishes) == want
    assert selectors.node_preferences(None) is None


def test_pod_affinity_terms_carry_namespaces_and_their_selector() -> None:
    text = """{"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "1"}}, "namespaces": ["y", "x"],
         "namespaceSelector": {}}],
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "podAffinityTerm": {"topologyKey": "host"}}]}"""
    source = msgspec.json.decode(text, type=wire.PodAffinity)
    selector = Selector((Requirement("a", "In", ("1",)),))
    assert selectors.affinity_terms(source) == (AffinityTerm("zone", selector, ("x", "y"), Selector()),)
    assert selectors.weighted_terms(source) == (WeightedAffinityTerm(9, AffinityTerm("host", None)),)


def test_no_pod_affinity_is_no_terms() -> None:
    assert selectors.affinity_terms(None) == ()
    assert selectors.weighted_terms(None) == ()


def test_spread_constraints_have_upstreams_defaults() -> None:
    text = '{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}'
    assert spread(text) == SpreadConstraint(2, "zone", is_hard=True, selector=None, min_domains=1)


def test_spread_constraints_keep_every_field() -> None:
    text = """{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {},
        "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}"""
    want = SpreadConstraint(
        1, "zone", is_hard=False, selector=Selector(), min_domains=3, honors_affinity=False, honors_taints=True
    )
    assert spread(text) == want


def test_match_label_keys_take_the_pods_own_values() -> None:
    chosen = '"labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["version", "gone"]'
    text = f'{{"topologyKey": "zone", {chosen}}}'
    selector = spread(text, app="x", version="7").selector
    assert selector is not None
    assert set(selector.requirements) == {Requirement("app", "In", ("x",)), Requirement("version", "In", ("7",))}


def test_match_label_keys_do_not_make_a_selector_where_there_is_none() -> None:
    assert spread('{"topologyKey": "zone", "matchLabelKeys": ["version"]}', version="7").selector is None


def test_spread_refuses_an_unknown_way_to_be_unsatisfied() -> None:
    with pytest.raises(ValueError, match="whenUnsatisfiable is `Never`, expected `DoNotSchedule` or `ScheduleAnyway`"):
        spread('{"whenUnsatisfiable": "Never"}')
