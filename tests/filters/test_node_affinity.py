"""Tests of NodeAffinity: node selector and required terms, with every operator."""

import pytest

from filters.judging import judge, refused
from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodeSelectorTerm
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NODES = (
    make_node("ssd-8").label("disk", "ssd").label("cores", "8"),
    make_node("hdd-16").label("disk", "hdd").label("cores", "16"),
    make_node("plain"),
)
ALL = {"ssd-8", "hdd-16", "plain"}


def allowed(*terms: NodeSelectorTerm) -> set[str]:
    return ALL - refused("NodeAffinity", *NODES, make_pod("new").spec(node_affinity=terms))


def term(*expressions: tuple[str, ...], fields: tuple[tuple[str, ...], ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(requirements(expressions), requirements(fields))


def requirements(rows: tuple[tuple[str, ...], ...]) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, operator, tuple(values)) for key, operator, *values in rows)


def test_a_node_selector_must_match_wholly() -> None:
    pod = make_pod("new").node_selector("disk", "ssd")
    want = Rejection("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), is_resolvable=False)
    assert judge("NodeAffinity", *NODES, pod) == {"hdd-16": want, "plain": want}
    assert refused("NodeAffinity", *NODES, pod.node_selector("cores", "16")) == ALL


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        pytest.param(("disk", "In", "ssd", "nvme"), {"ssd-8"}, id="in"),
        pytest.param(("disk", "NotIn", "ssd"), {"hdd-16", "plain"}, id="not in, also where the key is missing"),
        pytest.param(("disk", "Exists"), {"ssd-8", "hdd-16"}, id="exists"),
        pytest.param(("disk", "DoesNotExist"), {"plain"}, id="does not exist"),
        pytest.param(("cores", "Gt", "8"), {"hdd-16"}, id="greater than"),
        pytest.param(("cores", "Lt", "16"), {"ssd-8"}, id="less than"),
        pytest.param(("disk", "Gt", "8"), set(), id="a comparison with what is no number"),
        pytest.param(("cores", "Gt", "9" * 5000), set(), id="a comparison with what int64 does not hold"),
    ],
)
def test_operators_on_labels(expression: tuple[str, ...], want: set[str]) -> None:
    assert allowed(term(expression)) == want


def test_expressions_of_a_term_must_all_hold() -> None:
    assert allowed(term(("disk", "Exists"), ("cores", "Gt", "8"))) == {"hdd-16"}


def test_one_of_the_terms_is_enough() -> None:
    assert allowed(term(("disk", "In", "ssd")), term(("disk", "DoesNotExist"))) == {"ssd-8", "plain"}


@pytest.mark.parametrize(
    ("operator", "want"), [("In", {"plain"}), ("NotIn", {"ssd-8", "hdd-16"})], ids=["in", "not in"]
)
def test_fields_name_nodes(operator: str, want: set[str]) -> None:
    assert allowed(term(fields=(("metadata.name", operator, "plain"),))) == want


def test_a_term_without_conditions_matches_no_node() -> None:
    assert allowed(term()) == set()


def test_no_terms_match_no_node() -> None:
    assert allowed() == set()


def test_selector_and_terms_must_both_hold() -> None:
    pod = make_pod("new").node_selector("disk", "ssd").spec(node_affinity=(term(("cores", "Gt", "8")),))
    assert refused("NodeAffinity", *NODES, pod) == ALL
