"""Objects by name: whatever came and went before, they are as those that are there."""

from hypothesis import given
from hypothesis import strategies as st

from longshore.core.words.labels import Labels, Selector
from longshore.core.words.objects import Objects, Word
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
)

NAMES = st.sampled_from(["a", "b", "c"])
LABELS: st.SearchStrategy[Labels] = st.dictionaries(NAMES, NAMES, max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)
WORDS: st.SearchStrategy[Word] = st.one_of(
    st.builds(Namespace, NAMES, LABELS),
    st.builds(Service, NAMES, NAMES, st.none() | LABELS),
    st.builds(Controller, st.just("apps/v1"), st.just("ReplicaSet"), NAMES, NAMES, st.just(Selector())),
    st.builds(PersistentVolume, NAMES, LABELS),
    st.builds(PersistentVolumeClaim, NAMES, NAMES, NAMES),
)


def key(word: Word) -> tuple[str, ...]:
    return (type(word).__name__, getattr(word, "namespace", ""), word.name)


@given(st.lists(st.tuples(st.booleans(), WORDS)))
def test_what_is_left_is_as_if_nothing_else_had_been(moves: list[tuple[bool, Word]]) -> None:
    objects, left = Objects(), dict[tuple[str, ...], Word]()
    for is_put, word in moves:
        if is_put:
            objects.put(word)
            left[key(word)] = word
        else:
            objects.drop(word)
            left.pop(key(word), None)
    fresh = Objects(left.values())
    for name in ("namespaces", "services", "controllers", "volumes", "claims", "namespace_labels"):
        assert getattr(objects, name) == getattr(fresh, name)
    services = [word for word in left.values() if isinstance(word, Service)]
    for namespace in "abc":
        found = [
            selector
            for label in [(one, other) for one in "abc" for other in "abc"]
            for selector in objects.selectors(namespace, label)
        ]
        wanted = [service.selector for service in services if service.namespace == namespace and service.selector]
        assert sorted(found) == sorted(wanted)


def test_a_snapshot_comes_back_as_it_was() -> None:
    snapshot = Snapshot(namespaces=(Namespace("a"),), services=(Service("a", "s"),), volumes=(PersistentVolume("v"),))
    assert Snapshot(**Objects.of(snapshot).in_snapshot()) == snapshot
