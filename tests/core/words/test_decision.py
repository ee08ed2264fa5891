"""Decisions: one type, told with as much detail as was asked for."""

import msgspec

from longshore.core.words.decision import Decision, Rejection


def test_a_decision_encodes_as_an_object_with_named_fields():
    rejection = Rejection("NodeName", ("no",), is_resolvable=False)
    given = Decision(pod_namespace="a", pod_name="b", policy="random", rejections={"n": rejection})
    data = msgspec.json.decode(msgspec.json.encode(given))
    assert (data["pod_namespace"], data["pod_name"], data["scores"]) == ("a", "b", None)
    assert data["rejections"]["n"] == {"filter": "NodeName", "reasons": ["no"], "is_resolvable": False}


def test_a_decision_names_its_pod():
    assert Decision(pod_namespace="shop", pod_name="api-1", policy="random").pod == "shop/api-1"


def test_decisions_do_not_share_their_terms():
    first, second = (Decision(pod_namespace="a", pod_name=name, policy="p") for name in "ab")
    first.terms["ee"] = 1.0
    assert second.terms == {}
