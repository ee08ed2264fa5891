"""The scheduling queue: order, backoff, what wakes a pod, and that it stays fast with many pods."""

import time
from dataclasses import replace

import pytest

from longshore.core.words.happening import Happening
from longshore.core.words.pod import Pod
from longshore.scheduling.queue import MAX_UNSCHEDULABLE_SECONDS, Place, SchedulingQueue, Waiting, backoff_seconds
from support.builders import make_pod


class Clock:
    """Time that goes on when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> SchedulingQueue:
    return SchedulingQueue(clock)


def pod(name: str, priority: int = 0, uid: str = "1") -> Pod:
    return replace(make_pod(name).priority(priority).build(), uid=uid)


def pop(queue: SchedulingQueue) -> Waiting:
    item = queue.pop()
    assert item is not None
    return item


def fail(queue: SchedulingQueue, *rejectors: str) -> Waiting:
    item = pop(queue)
    queue.fail(item, rejectors)
    return item


def place_of(queue: SchedulingQueue, name: str) -> Place | None:
    item = queue.get(f"default/{name}")
    return None if item is None else item.place


def test_the_highest_priority_is_first_then_who_came_first(queue: SchedulingQueue):
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -3)):
        queue.put(pod(name, priority))
    assert [pop(queue).pod.name for _ in range(5)] == ["b", "d", "a", "c", "e"]
    assert queue.pop() is None


def test_a_popped_pod_is_in_flight_until_somebody_answers_for_it(queue: SchedulingQueue):
    queue.put(pod("a"))
    item = pop(queue)
    assert (queue.count(Place.IN_FLIGHT), queue.count(Place.ACTIVE)) == (1, 0)
    queue.put(pod("a", priority=7))  # an update does not make a second one
    assert queue.pop() is None
    assert item.pod.priority == 7
    queue.drop("default/a")
    assert len(queue) == 0


def test_backoff_doubles_from_one_to_ten_seconds():
    assert [backoff_seconds(count) for count in (0, 1, 2, 3, 4, 5, 6, 10_000)] == [0, 1, 2, 4, 8, 10, 10, 10]


def test_a_pod_that_nobody_can_say_what_helps_is_tried_again_after_its_backoff(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    for seconds in (1, 2, 4, 8, 10, 10):
        fail(queue)
        assert place_of(queue, "a") is Place.BACKOFF
        assert queue.next_tick() == clock.now + seconds
        clock.now += seconds - 0.01
        queue.tick()
        assert queue.peek() is None
        clock.now += 0.01
        queue.tick()
        assert queue.peek() is not None


def test_errors_count_by_themselves_and_end_with_the_next_failure(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    for _ in range(3):
        item = pop(queue)
        queue.retry(item)
        clock.now += 10
        queue.tick()
    assert (item.errors, item.failures) == (3, 0)
    queue.fail(pop(queue), ())
    assert (item.errors, item.failures) == (0, 1)
    assert queue.next_tick() == clock.now + 1


def test_only_what_could_help_wakes_a_rejected_pod(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    fail(queue, "NodeResourcesFit")
    clock.now += 20
    assert queue.wake(Happening.NODE_TAINTS) == 0
    assert place_of(queue, "a") is Place.UNSCHEDULABLE
    assert queue.wake(Happening.POD_DELETED) == 1
    assert place_of(queue, "a") is Place.ACTIVE


def test_a_woken_pod_still_waits_for_its_backoff(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    fail(queue, "NodeResourcesFit")
    clock.now += 0.4
    queue.wake(Happening.NODE_ADDED)
    assert place_of(queue, "a") is Place.BACKOFF
    assert queue.next_tick() == pytest.approx(clock.now + 0.6)


def test_any_of_several_rejectors_can_be_helped(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    fail(queue, "NodeResourcesFit", "TaintToleration")
    clock.now += 20
    queue.wake(Happening.NODE_TAINTS)
    assert place_of(queue, "a") is Place.ACTIVE
    assert queue.wake(Happening.POD_DELETED) == 0  # it is no longer among those that Fit rejected


def test_a_filter_of_another_package_is_helped_by_anything(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    fail(queue, "TheirFilter")
    clock.now += 20
    assert queue.wake(Happening.CONTEXT) == 1


def test_waking_can_be_limited_to_lower_priorities(queue: SchedulingQueue, clock: Clock):
    for name, priority in (("low", 1), ("same", 5), ("high", 6)):
        queue.put(pod(name, priority))
    for _ in range(3):
        fail(queue, "NodeResourcesFit")
    clock.now += 20
    queue.wake(Happening.POD_DELETED, at_most_priority=5)
    assert [place_of(queue, name) for name in ("low", "same", "high")] == [
        Place.ACTIVE,
        Place.ACTIVE,
        Place.UNSCHEDULABLE,
    ]


def test_nobody_waits_for_an_event_longer_than_five_minutes(queue: SchedulingQueue, clock: Clock):
    for name in ("a", "b"):
        queue.put(pod(name))
        fail(queue, "NodeResourcesFit")
        clock.now += 100
    clock.now += MAX_UNSCHEDULABLE_SECONDS - 201
    queue.tick()
    assert place_of(queue, "a") is Place.UNSCHEDULABLE
    assert queue.next_tick() == clock.now + 1
    clock.now += 1  # at the very moment that it names, or whoever waits for it would spin
    queue.tick()
    assert (place_of(queue, "a"), place_of(queue, "b")) == (Place.ACTIVE, Place.UNSCHEDULABLE)


def test_an_update_that_a_decision_reads_tries_again_and_another_does_not(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a"))
    fail(queue, "TaintToleration")
    clock.now += 20
    queue.put(replace(pod("a"), annotations=(("note", "x"),)))
    assert place_of(queue, "a") is Place.UNSCHEDULABLE
    queue.put(make_pod("a").toleration("spot").build())
    assert place_of(queue, "a") is Place.ACTIVE


def test_gated_pods_wait_apart_until_their_gates_are_gone(queue: SchedulingQueue, clock: Clock):
    queue.put(replace(pod("a"), scheduling_gates=("quota",)))
    assert (queue.count(Place.GATED), queue.pop()) == (1, None)
    clock.now += 1000
    queue.tick()
    queue.wake(Happening.NODE_ADDED)
    queue.activate("default/a")
    assert place_of(queue, "a") is Place.GATED
    queue.put(pod("a"))
    assert pop(queue).pod.name == "a"


def test_a_pod_of_the_same_name_is_another_pod(queue: SchedulingQueue, clock: Clock):
    queue.put(pod("a", uid="old"))
    old = fail(queue, "NodeResourcesFit")
    queue.put(pod("a", uid="new"))
    new = pop(queue)
    assert (new.pod.uid, new.attempts, new.failures) == ("new", 1, 0)
    queue.fail(old, ["NodeResourcesFit"])  # whoever still has the old one changes nothing
    assert new.place is Place.IN_FLIGHT


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
def test_a_deleted_pod_leaves_every_place(queue: SchedulingQueue, clock: Clock, place: str):
    queue.put(replace(pod("a"), scheduling_gates=("g",) if place == "gated" else ()))
    if place in ("backoff", "unschedulable"):
        fail(queue, *(["NodeResourcesFit"] if place == "unschedulable" else []))
    assert place_of(queue, "a") is Place(place)
    queue.drop("default/a")
    clock.now += 1000
    queue.tick()
    assert queue.wake(Happening.POD_DELETED) == 0
    assert queue.pop() is None
    assert [queue.count(each) for each in Place] == [0] * len(Place)
    assert queue.next_tick() is None


def test_activate_ends_waiting_at_once(queue: SchedulingQueue):
    queue.put(pod("a"))
    fail(queue, "NodeResourcesFit")
    queue.activate("default/a")
    assert pop(queue).pod.name == "a"


def test_a_changed_priority_changes_the_turn(queue: SchedulingQueue):
    queue.put(pod("a"))
    queue.put(pod("b"))
    queue.put(pod("b", priority=9))
    assert [pop(queue).pod.name, pop(queue).pod.name, queue.pop()] == ["b", "a", None]


def test_fifty_thousand_pods_go_through_all_places_in_seconds(queue: SchedulingQueue, clock: Clock):
    pods = [pod(f"p{i}", priority=i % 7) for i in range(50_000)]
    started = time.perf_counter()
    for each in pods:
        queue.put(each)
    while (item := queue.pop()) is not None:
        queue.fail(item, ("NodeResourcesFit",))
    assert queue.wake(Happening.POD_DELETED) == 50_000
    clock.now += 10
    queue.tick()
    assert queue.count(Place.ACTIVE) == 50_000
    for each in pods:
        queue.drop(each.key)
    assert time.perf_counter() - started < 8  # about 0.7 s on an idle core; one that is O(n) takes minutes
