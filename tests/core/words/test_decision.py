"""Decisions travel as JSON objects with named fields."""

import msgspec

from longshore.core.words.decision import Decision, Rejection


def test_decision_encodes_as_an_object_with_named_fields():
    rejection = Rejection("NodeName", ("no",), is_resolvable=False)
    data = msgspec.json.decode(msgspec.json.encode(Decision("a/b", "random", None, {}, {"n": rejection})))
    assert data["pod"] == "a/b"
    assert data["rejections"]["n"] == {"filter": "NodeName", "reasons": ["no"], "is_resolvable": False}


def test_decisions_do_not_share_their_terms():
    first, second = Decision("a/a", "p", "n", {}, {}), Decision("a/b", "p", "n", {}, {})
    first.terms["ee"] = 1.0
    assert second.terms == {}
