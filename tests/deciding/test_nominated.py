"""Nominations: whose room counts for whom."""

from longshore.deciding.nominated import Nominations
from support.builders import make_pod

LOW, MIDDLE, HIGH = (make_pod(f"p{priority}").priority(priority).build() for priority in (1, 5, 9))


def test_room_is_kept_from_pods_of_the_same_or_a_lower_priority():
    nominations = Nominations()
    nominations.put(MIDDLE, "a")
    counted = {pod.name: [n.node for n in nominations.that_count(pod)] for pod in (LOW, MIDDLE, HIGH)}
    assert counted == {"p1": ["a"], "p5": [], "p9": []}
    other = make_pod("other").priority(5).build()
    assert [n.pod.name for n in nominations.that_count(other)] == ["p5"]


def test_a_second_nomination_replaces_the_first_and_an_empty_one_ends_it():
    nominations = Nominations()
    assert nominations.put(HIGH, "a") == ""
    assert nominations.put(HIGH, "b") == "a"
    assert nominations.node_of(HIGH.key) == "b"
    assert nominations.put(HIGH, "") == "b"
    assert not nominations


def test_those_of_lower_priority_on_the_node_are_pushed_aside():
    nominations = Nominations()
    nominations.put(LOW, "a")
    nominations.put(MIDDLE, "b")
    assert [pod.name for pod in nominations.of_lower_priority("a", 9)] == ["p1"]
    assert nominations.of_lower_priority("a", 1) == []


def test_the_version_goes_up_only_with_a_change():
    nominations = Nominations()
    nominations.put(LOW, "a")
    before = nominations.version
    nominations.put(LOW, "a")
    nominations.drop("default/nobody")
    assert nominations.version == before
    assert nominations.drop(LOW.key) == "a"
    assert nominations.version > before
