"""Affinities: operators, weights, fields and label keys as validation asks and the API server stores them."""

from random import Random

import msgspec

from longshore.filters.unsupported import find_unreadable
from longshore.kube import convert, wire
from longshore_lab.oracle.case_affinity import (
    UNREADABLE_VALUE,
    make_label_selector,
    make_pod_affinities,
    merge_label_keys,
    selector_keys,
    spoil_pod_affinities,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LIST_OPERATORS = ("In", "NotIn")
OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist"}


def _pod_terms(pod):
    for side in ("podAffinity", "podAntiAffinity"):
        terms = pod["spec"].get("affinity", {}).get(side, {})
        yield from terms.get(REQUIRED, ())
        yield from (entry["podAffinityTerm"] for entry in terms.get(PREFERRED, ()))


def _check_requirement(requirement, operators):
    assert requirement["operator"] in operators
    assert bool(requirement.get("values")) == (requirement["operator"] not in ("Exists", "DoesNotExist"))
    assert len(requirement.get("values", ())) == 1 or requirement["operator"] not in ("Gt", "Lt")


def test_selectors_have_valid_operators(pods):
    for pod in pods:
        for term in _pod_terms(pod):
            for selector in (term.get("labelSelector"), term.get("namespaceSelector")):
                for requirement in (selector or {}).get("matchExpressions", ()):
                    _check_requirement(requirement, OPERATORS)


def test_weights_are_between_1_and_100(pods):
    for pod in pods:
        for affinity in pod["spec"].get("affinity", {}).values():
            assert all(1 <= entry["weight"] <= 100 for entry in affinity.get(PREFERRED, ()))


def test_node_terms_are_valid(pods):
    for pod in pods:
        affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        required = affinity.get(REQUIRED)
        assert required is None or required["nodeSelectorTerms"]
        for term in (*(required or {"nodeSelectorTerms": ()})["nodeSelectorTerms"],
                     *(entry["preference"] for entry in affinity.get(PREFERRED, ()))):  # fmt: skip
            for requirement in term.get("matchExpressions", ()):
                _check_requirement(requirement, OPERATORS | {"Gt", "Lt"})
            for field in term.get("matchFields", ()):
                assert field["key"] == "metadata.name"
                assert field["operator"] in LIST_OPERATORS
                assert len(field["values"]) == 1


def test_preferred_bounds_are_numbers(pods):
    # Upstream ends the whole cycle with an error for one that is not.
    for pod in pods:
        for entry in pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED, ()):
            for requirement in entry["preference"].get("matchExpressions", ()):
                assert requirement["operator"] not in ("Gt", "Lt") or requirement["values"][0].isdigit()


def test_label_keys_are_merged_into_the_selector(pods):
    num_merged = 0
    for pod in pods:
        labels = pod["metadata"].get("labels", {})
        for term in _pod_terms(pod):
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
                for key in term.get(field, ()):
                    assert "labelSelector" in term
                    wanted = {"key": key, "operator": operator, "values": [labels.get(key)]}
                    assert (wanted in term["labelSelector"].get("matchExpressions", ())) == (key in labels)
                    num_merged += key in labels
            assert set(term.get("matchLabelKeys", ())).isdisjoint(term.get("mismatchLabelKeys", ()))
    assert num_merged > 50


def test_merge_label_keys_leaves_out_absent_keys():
    selector = {"matchLabels": {"app": "web"}}
    merge_label_keys(selector, ["tier", "absent"], "In", {"tier": "front"})
    assert selector["matchExpressions"] == [{"key": "tier", "operator": "In", "values": ["front"]}]
    assert selector_keys(selector) == {"app", "tier"}


def test_make_label_selector_gives_none_empty_and_full_ones():
    draw = Random("selector").random
    selectors = [make_label_selector(draw, {"app": "web"}) for _ in range(300)]
    assert None in selectors
    assert {} in selectors
    assert any(selector and len(selector) == 2 for selector in selectors)


def test_the_pod_to_place_can_be_read(cases):
    # Upstream would end the cycle with an error: there would be nothing to compare.
    for pod in (case["pod"] for case in cases):
        source = msgspec.json.decode(msgspec.json.encode(pod), type=wire.Pod)
        assert find_unreadable(convert.pod(source, is_incoming=True).spec) == ()


def test_spoiling_makes_one_term_unreadable_and_leaves_what_it_was_given():
    draw = Random("spoil").random
    for _ in range(50):
        affinity = make_pod_affinities(draw, {"app": "web"}, 0.5)
        before = msgspec.json.encode(affinity)
        spoiled = msgspec.json.encode(spoil_pod_affinities(draw, affinity))
        assert msgspec.json.encode(affinity) == before
        assert UNREADABLE_VALUE.encode() not in before
        assert spoiled.count(UNREADABLE_VALUE.encode()) == 1
