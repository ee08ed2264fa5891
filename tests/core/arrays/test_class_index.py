"""Looking classes up: nobody who matches is missed, and few others are named."""

from hypothesis import given
from hypothesis import strategies as st

from core.clusters import rich_snapshot
from longshore.core.arrays.class_index import ClassIndex, SelectorIndex
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import PodSpec
from support.builders import make_pod


def index_of(*specs: PodSpec) -> ClassIndex:
    index = ClassIndex()
    for one in specs:
        index.add(one, dict(one.labels))
    return index


def spec(namespace: str, **labels: str) -> PodSpec:
    return PodSpec(namespace=namespace, labels=tuple(sorted(labels.items())))


def wants(key: str, *values: str, operator: str = "In") -> Selector:
    return Selector((Requirement(key, operator, values),))


SPECS = (spec("a", app="web"), spec("a", app="db"), spec("b", app="web", tier="front"), spec("b"))


def test_a_wanted_label_names_the_classes_that_have_it() -> None:
    assert index_of(*SPECS).candidates(wants("app", "web")) == [0, 2]
    assert index_of(*SPECS).candidates(wants("app", "db", "web", "db")) == [0, 1, 2]
    assert index_of(*SPECS).candidates(wants("app", "cache")) == []


def test_namespaces_narrow_where_labels_do_not() -> None:
    assert index_of(*SPECS).candidates(Selector(), ("b",)) == [2, 3]
    assert index_of(*SPECS).candidates(wants("app", "web", operator="NotIn"), ("b", "c")) == [2, 3]


def test_the_narrowest_way_is_taken() -> None:
    both = Selector(wants("app", "web").requirements + wants("tier", "front").requirements)
    assert index_of(*SPECS).candidates(both, ("a", "b")) == [2]


def test_everybody_is_named_where_nothing_narrows() -> None:
    assert index_of(*SPECS).candidates(Selector()) == [0, 1, 2, 3]
    assert index_of(*SPECS).candidates(wants("app", operator="Exists")) == [0, 1, 2, 3]


def test_no_selector_matches_nobody() -> None:
    assert index_of(*SPECS).candidates(None, ("a",)) == []
    assert index_of().candidates(Selector()) == []


@given(st.integers(0, 2**32 - 1).map(rich_snapshot), st.data())
def test_nobody_who_matches_is_missed(snapshot, data: st.DataObject) -> None:
    specs = list({pod.spec: None for pod in snapshot.pods} or {make_pod("a").build().spec: None})
    selectors = [c.selector for s in specs for c in s.spread] + [
        t.selector for s in specs for t in s.affinity + s.anti_affinity
    ]
    selector = data.draw(st.sampled_from(selectors or [None]))
    namespaces = data.draw(st.sampled_from([None, (specs[0].namespace,), ("default", "other")]))
    found = set(index_of(*specs).candidates(selector, namespaces))
    for number, one in enumerate(specs):
        is_inside = namespaces is None or one.namespace in namespaces
        if selector is not None and is_inside and selector.matches(dict(one.labels)):
            assert number in found


def test_selectors_are_found_by_the_labels_and_namespaces_that_they_want() -> None:
    index = SelectorIndex()
    index.add(0, wants("app", "web", "db"), ("a",))
    index.add(1, wants("app", operator="Exists"), ("a",))
    index.add(2, Selector())
    index.add(3, None)
    assert index.candidates("a", {"app": "web"}) == [0, 1, 2]
    assert index.candidates("b", {"app": "db"}) == [0, 2]
    assert index.candidates("b", {"app": "cache"}) == [2]


@given(st.integers(0, 2**32 - 1).map(rich_snapshot))
def test_no_selector_that_matches_is_missed(snapshot) -> None:
    specs = list({pod.spec: None for pod in snapshot.pods})
    terms = [(t.selector, (s.namespace,)) for s in specs for t in (*s.spread, *s.affinity, *s.anti_affinity)]
    index = SelectorIndex()
    for number, (selector, namespaces) in enumerate(terms):
        index.add(number, selector, namespaces)
    for one in specs:
        labels = dict(one.labels)
        found = index.candidates(one.namespace, labels)
        for number, (selector, namespaces) in enumerate(terms):
            if one.namespace in namespaces and selector is not None and selector.matches(labels):
                assert number in found
