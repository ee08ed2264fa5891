"""Tests of the comparison: our answer to a case, and that every kind of difference is found."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from longshore.filters.base import Rejection
from longshore.policies.heuristics.kube_default import PLUGINS
from longshore_lab.oracle.cases import make_case
from longshore_lab.oracle.compare import OwnAnswer, answer, difference, encode_case
from longshore_lab.oracle.program import Answer, Scores, Status

SHORT = Rejection("NodeResourcesFit", ("Insufficient cpu", "Insufficient memory"), is_resolvable=True)


def own_answer() -> OwnAnswer:
    """Say that `a` and `b` are feasible and `c` is not; every plugin scores differently on each."""
    raw = {plugin: {"a": i + 1, "b": i + 2} for i, plugin in enumerate(PLUGINS)}
    normalized = {plugin: {"a": 10 * i + 1, "b": 10 * i + 2} for i, plugin in enumerate(PLUGINS)}
    return OwnAnswer({"c": SHORT}, ("a", "b"), raw, normalized, {"a": 500, "b": 600})


def upstream_answer(own: OwnAnswer, **changes: Any) -> Answer:
    """Say the same in upstream's words."""
    nodes: dict[str, Status | None] = dict.fromkeys(own.feasible)
    for node, found in own.rejections.items():
        code = "Unschedulable" if found.is_resolvable else "UnschedulableAndUnresolvable"
        nodes[node] = Status(found.filter, code, list(found.reasons))
    scores = {plugin: Scores(own.raw[plugin], own.normalized[plugin]) for plugin in PLUGINS}
    parts = {"id": 1, "nodes": nodes, "scores": scores, "totals": own.totals} | changes
    return Answer(**parts)


def with_score(kind: str, plugin: str) -> OwnAnswer:
    """Let one plugin be off by one on one node."""
    own = own_answer()
    scores = getattr(own, kind)
    return own._replace(**{kind: scores | {plugin: scores[plugin] | {"b": scores[plugin]["b"] + 1}}})


def test_equal_answers_do_not_differ() -> None:
    assert difference(own_answer(), upstream_answer(own_answer())) is None


BROKEN: dict[str, tuple[OwnAnswer, str]] = {
    "a node too many": (
        own_answer()._replace(rejections={}, feasible=("a", "b", "c")),
        "node `c`: ours None, upstream Status",
    ),
    "a node too few": (
        own_answer()._replace(rejections={"b": SHORT, "c": SHORT}, feasible=("a",)),
        "node `b`: ours Rejection",
    ),
    "a node that is neither feasible nor refused": (
        own_answer()._replace(feasible=("a",)),
        "feasible nodes: ours ['a']",
    ),
    "another filter": (
        own_answer()._replace(rejections={"c": replace(SHORT, filter="NodePorts")}),
        "node `c`: ours ('NodePorts'",
    ),
    "a reason too few": (
        own_answer()._replace(rejections={"c": replace(SHORT, reasons=SHORT.reasons[:1])}),
        "node `c`: ours ('NodeResourcesFit', 'Unschedulable', ['Insufficient cpu'])",
    ),
    "a reason in other words": (
        own_answer()._replace(rejections={"c": replace(SHORT, reasons=("Insufficient cpu", "Too little memory"))}),
        "node `c`: ours",
    ),
    "another code": (
        own_answer()._replace(rejections={"c": replace(SHORT, is_resolvable=False)}),
        "node `c`: ours ('NodeResourcesFit', 'UnschedulableAndUnresolvable'",
    ),
    "a total": (own_answer()._replace(totals={"a": 500, "b": 601}), "totals: ours {'a': 500, 'b': 601}"),
    "a total too few": (own_answer()._replace(totals={"a": 500}), "totals: ours {'a': 500}"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_answer_is_found(what: str) -> None:
    broken, want = BROKEN[what]
    found = difference(broken, upstream_answer(own_answer()))
    assert found is not None
    assert found.startswith(want)


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize(("kind", "word"), [("raw", "raw"), ("normalized", "normalised")])
def test_a_score_that_is_off_by_one_is_found(kind: str, word: str, plugin: str) -> None:
    found = difference(with_score(kind, plugin), upstream_answer(own_answer()))
    assert found is not None
    assert found.startswith(f"{plugin} {word}: ours")


def test_the_order_of_reasons_is_no_difference() -> None:
    own = own_answer()
    turned = own._replace(rejections={"c": replace(SHORT, reasons=SHORT.reasons[::-1])})
    assert difference(turned, upstream_answer(own)) is None


def without(plugin: str) -> dict[str, Scores]:
    own = own_answer()
    return {name: Scores(own.raw[name], own.normalized[name]) for name in PLUGINS if name != plugin}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_that_upstream_skips_must_be_worth_nothing(plugin: str) -> None:
    own = own_answer()
    theirs = upstream_answer(own, scores=without(plugin))
    found = difference(own, theirs)
    assert found is not None
    assert found.startswith(f"{plugin}: upstream skips it, ours")
    nothing = own._replace(normalized=own.normalized | {plugin: {"a": 0, "b": 0}})
    assert difference(nothing, theirs) is None


def test_a_plugin_that_we_do_not_have_may_say_nothing_only() -> None:
    own = own_answer()
    ours = without("")
    silent = upstream_answer(own, scores=ours | {"DynamicResources": Scores({"a": 0, "b": 0}, {"a": 0, "b": 0})})
    loud = upstream_answer(own, scores=ours | {"Other": Scores({"a": 1, "b": 0}, {"a": 100, "b": 0})})
    assert difference(own, silent) is None
    assert difference(own, loud) == "upstream scores by `Other`, which we do not have"


def test_a_case_that_upstream_cannot_answer_is_a_difference() -> None:
    found = difference(own_answer(), upstream_answer(own_answer(), error="items[0]: got kind X"))
    assert found == "upstream could not answer: items[0]: got kind X"


def case(pod: dict[str, Any], *items: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"id": 1, "pod": pod, "items": list(items)})


def node(name: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_the_pod_to_place_is_placed_although_it_names_a_node() -> None:
    encoded, pod_class = encode_case(case(pod("new", nodeName="b"), node("a"), node("b")))
    assert encoded.arrays.state.pod_count.tolist() == [0, 0]
    assert encoded.specs[pod_class].node_name == "b"


def test_pods_that_wait_are_left_out() -> None:
    encoded, _ = encode_case(case(pod("new"), node("a"), pod("old", nodeName="a"), pod("waiting")))
    assert [other.name for other in encoded.snapshot.pods] == ["old", "new"]


def test_our_answer_by_hand() -> None:
    needs = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]}
    own = answer(case(pod("new", **needs), node("a"), node("b"), pod("old", nodeName="b", **needs)))
    assert own.feasible == ("a", "b")
    assert own.rejections == {}
    assert own.raw["NodeResourcesFit"] == {"a": 75, "b": 50}
    assert own.normalized["TaintToleration"] == {"a": 100, "b": 100}
    assert own.totals == {"a": 75 + 75 + 300, "b": 50 + 75 + 300}


def test_our_answer_gives_reasons_where_nodes_are_refused() -> None:
    needs = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]}
    own = answer(case(pod("new", **needs), node("a")))
    assert own.feasible == ()
    assert own.rejections == {"a": Rejection("NodeResourcesFit", ("Insufficient cpu",), is_resolvable=False)}
    assert own.totals == {}


def test_every_answer_of_a_series_would_be_missed_if_it_were_another() -> None:
    # The power of the comparison over real answers: shifting any total by one is seen in every case that has one.
    for index in range(100):
        own = answer(msgspec.json.encode(make_case(1, index)))
        theirs = upstream_answer(own)
        assert difference(own, theirs) is None
        if own.totals:
            first = next(iter(own.totals))
            assert difference(own._replace(totals=own.totals | {first: own.totals[first] + 1}), theirs) is not None
