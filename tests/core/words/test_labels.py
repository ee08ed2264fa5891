"""Labels and selectors, operator by operator, against upstream's rules."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.words.labels import (
    Requirement,
    Selector,
    find_unparsable,
    freeze,
    is_parsable,
    parse_int64,
    selector_matches,
)

LABELS = {"zone": "a", "empty": "", "cores": "8", "negative": "-3", "plus": "+5", "word": "eight", "huge": str(2**63)}


class Case(NamedTuple):
    """A requirement on `LABELS`."""

    key: str
    operator: str
    values: tuple[str, ...]
    want_match: bool


OPERATORS = {
    "In with the value": Case("zone", "In", ("b", "a"), True),
    "In with other values": Case("zone", "In", ("b", "c"), False),
    "In with no values": Case("zone", "In", (), False),
    "In on a missing key": Case("none", "In", ("a",), False),
    "In on a missing key does not mean the empty value": Case("none", "In", ("",), False),
    "In with the empty value": Case("empty", "In", ("",), True),
    "NotIn with the value": Case("zone", "NotIn", ("b", "a"), False),
    "NotIn with other values": Case("zone", "NotIn", ("b",), True),
    "NotIn on a missing key holds": Case("none", "NotIn", ("a",), True),
    "Exists": Case("zone", "Exists", (), True),
    "Exists with an empty value": Case("empty", "Exists", (), True),
    "Exists on a missing key": Case("none", "Exists", (), False),
    "DoesNotExist": Case("none", "DoesNotExist", (), True),
    "DoesNotExist on a key that is there": Case("empty", "DoesNotExist", (), False),
    "Gt below": Case("cores", "Gt", ("7",), True),
    "Gt equal": Case("cores", "Gt", ("8",), False),
    "Gt is numeric and not alphabetic": Case("cores", "Gt", ("10",), False),
    "Gt on a missing key": Case("none", "Gt", ("1",), False),
    "Gt on a word": Case("word", "Gt", ("1",), False),
    "Gt on an empty value": Case("empty", "Gt", ("-1",), False),
    "Gt against a word": Case("cores", "Gt", ("one",), False),
    "Gt against a fraction": Case("cores", "Gt", ("7.5",), False),
    "Gt on a number beyond int64": Case("huge", "Gt", ("1",), False),
    "Gt against a number beyond int64": Case("cores", "Gt", (str(-(2**63) - 1),), False),
    "Gt against the smallest int64": Case("cores", "Gt", (str(-(2**63)),), True),
    "Gt with plus signs": Case("plus", "Gt", ("+4",), True),
    "Lt above": Case("cores", "Lt", ("9",), True),
    "Lt equal": Case("cores", "Lt", ("8",), False),
    "Lt on a negative number": Case("negative", "Lt", ("-2",), True),
    "Lt on a missing key": Case("none", "Lt", ("1",), False),
    "Lt on a word": Case("word", "Lt", ("9",), False),
    "Lt on a number beyond int64": Case("huge", "Lt", (str(2**64),), False),
    "an unknown operator": Case("zone", "Near", ("a",), False),
}


@pytest.mark.parametrize("case", OPERATORS.values(), ids=OPERATORS)
def test_requirement_matches_as_upstream(case: Case) -> None:
    assert Requirement(case.key, case.operator, case.values).matches(LABELS) is case.want_match


def test_selector_needs_every_requirement() -> None:
    one, other = Requirement("zone", "In", ("a",)), Requirement("cores", "Lt", ("4",))
    assert Selector((one,)).matches(LABELS)
    assert not Selector((one, other)).matches(LABELS)


def test_selector_without_requirements_matches_everything() -> None:
    assert Selector().is_empty
    assert Selector().matches({})
    assert selector_matches(Selector(), LABELS)


def test_no_selector_matches_nothing() -> None:
    assert not selector_matches(None, {})
    assert not selector_matches(None, LABELS)


def test_selector_extended_adds_equality_and_keeps_the_rest() -> None:
    selector = Selector((Requirement("zone", "Exists"),)).extended({"app": "web"})
    assert selector.matches({"zone": "a", "app": "web"})
    assert not selector.matches({"zone": "a", "app": "db"})
    assert not selector.matches({"app": "web"})


def test_selector_extended_is_the_same_in_any_order() -> None:
    assert Selector().extended({"a": "1", "b": "2"}) == Selector().extended({"b": "2", "a": "1"})


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3)))
def test_freeze_keeps_the_pairs_whatever_their_order(labels: dict[str, str]) -> None:
    assert dict(freeze(labels)) == labels
    assert freeze(labels) == freeze(dict(reversed(labels.items())))


def test_freeze_takes_none_as_no_labels() -> None:
    assert freeze(None) == freeze({}) == ()


INTEGERS = {
    "plain": ("42", 42),
    "plus sign": ("+5", 5),
    "minus sign": ("-7", -7),
    "minus zero": ("-0", 0),
    "leading zeros": ("-" + "0" * 30 + "12", -12),
    "largest": (str(2**63 - 1), 2**63 - 1),
    "smallest": (str(-(2**63)), -(2**63)),
    "one too large": (str(2**63), None),
    "one too small": (str(-(2**63) - 1), None),
    "thousands of digits": ("9" * 5000, None),
    "nothing": ("", None),
    "sign alone": ("+", None),
    "two signs": ("--1", None),
    "space": (" 1", None),
    "underscore": ("1_0", None),
    "fraction": ("1.0", None),
    "exponent": ("1e3", None),
    "hexadecimal": ("0x1", None),
    "Arabic digit": ("\u0661", None),
    "superscript digit": ("²", None),
}


@pytest.mark.parametrize(("text", "want"), INTEGERS.values(), ids=INTEGERS)
def test_parse_int64_reads_what_go_reads(text: str, want: int | None) -> None:
    assert parse_int64(text) == want


PARSABLE = {
    "a value": (Requirement("zone", "In", ("a",)), True),
    "the empty value": (Requirement("zone", "NotIn", ("",)), True),
    "a value of every kind of character": (Requirement("zone", "In", ("aZ.9_x-0",)), True),
    "a value of 63 characters": (Requirement("zone", "In", ("x" * 63,)), True),
    "a value of 64 characters": (Requirement("zone", "In", ("x" * 64,)), False),
    "a value with a space": (Requirement("zone", "In", ("a", "b c")), False),
    "a value that starts with a dash": (Requirement("zone", "NotIn", ("-a",)), False),
    "a value that ends with a point": (Requirement("zone", "In", ("a.",)), False),
    "a value that ends with a line break": (Requirement("zone", "In", ("a\n",)), False),
    "a value of other letters": (Requirement("zone", "In", ("ünï",)), False),
    "In without values": (Requirement("zone", "In"), False),
    "NotIn without values": (Requirement("zone", "NotIn"), False),
    "Exists": (Requirement("zone", "Exists"), True),
    "Exists with a value": (Requirement("zone", "Exists", ("a",)), False),
    "DoesNotExist with a value": (Requirement("zone", "DoesNotExist", ("",)), False),
    "Gt a number": (Requirement("cores", "Gt", ("8",)), True),
    "Gt a number with zeros": (Requirement("cores", "Gt", ("007",)), True),
    "Gt a word": (Requirement("cores", "Gt", ("many",)), False),
    "Gt two numbers": (Requirement("cores", "Gt", ("1", "2")), False),
    "Gt nothing": (Requirement("cores", "Gt"), False),
    "Lt a number that is no label value": (Requirement("cores", "Lt", ("-1",)), False),
    "Lt a number with a plus": (Requirement("cores", "Lt", ("+1",)), False),
    "Lt a number beyond int64": (Requirement("cores", "Lt", (str(2**63),)), False),
    "an unknown operator": (Requirement("zone", "Near", ("a",)), False),
    "a key with a prefix": (Requirement("topology.kubernetes.io/zone", "Exists"), True),
    "a prefix of one part": (Requirement("local/zone", "Exists"), True),
    "a name with capitals": (Requirement("example.com/Zone_1", "Exists"), True),
    "a prefix with capitals": (Requirement("Example.com/zone", "Exists"), False),
    "an empty prefix": (Requirement("/zone", "Exists"), False),
    "a prefix with an empty part": (Requirement("a..b/zone", "Exists"), False),
    "a prefix of 253 characters": (Requirement("a." * 126 + "a/zone", "Exists"), True),
    "a prefix of 254 characters": (Requirement("a." * 126 + "aa/zone", "Exists"), False),
    "two prefixes": (Requirement("a/b/zone", "DoesNotExist"), False),
    "a name of 64 characters": (Requirement("a/" + "x" * 64, "Exists"), False),
    "no key": (Requirement("", "DoesNotExist"), False),
    "a prefix and no name": (Requirement("example.com/", "Exists"), False),
    "a key with a space": (Requirement("my zone", "Exists"), False),
}


@pytest.mark.parametrize(("requirement", "want"), PARSABLE.values(), ids=PARSABLE)
def test_is_parsable_follows_upstreams_parser(requirement: Requirement, want: bool) -> None:
    assert is_parsable(requirement) is want


def test_find_unparsable_looks_through_all_selectors() -> None:
    good, bad = Requirement("a", "Exists"), Requirement("b", "In", ("no label!",))
    assert find_unparsable((None, Selector(), Selector((good,)))) is None
    assert find_unparsable((None, Selector((good,)), Selector((good, bad)))) == bad
