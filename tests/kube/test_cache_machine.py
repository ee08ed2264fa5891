"""A state machine over the reducer: histories delivered with gaps, repeats and in any order."""

from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from longshore.kube import wire
from longshore.kube.cache import Cache, Change, PodChange
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import PODS

NAMES = st.sampled_from(["a", "b", "c", "d"])
PRIORITIES = st.integers(0, 3)


class Deliveries(RuleBasedStateMachine):
    """A cluster with a history, and a cache that hears of it badly."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 10
        self.truth: dict[str, wire.Pod] = {}
        self.on_the_way: list[Event] = []
        self.heard: list[Event] = []
        self.cache = Cache()
        self.consumer: dict[str, PodChange] = {}
        self._apply(WatchBatch(PODS, Stage.LIST_BEGINS))
        self._apply(WatchBatch(PODS, Stage.LIST_ENDS, resource_version="10"))

    def _apply(self, batch: WatchBatch) -> None:
        for change in self.cache.apply(batch):
            self._consume(change)

    def _consume(self, change: Change) -> None:
        """Follow the changes, as a scheduler does, without a look into the cache."""
        assert isinstance(change, PodChange)
        if change.is_gone:
            assert self.consumer.pop(change.key).uid == change.uid
        else:
            before = self.consumer.get(change.key)
            assert before != change, "a change that changes nothing"
            assert before is None or before.uid == change.uid, "another pod without a word that the one before is gone"
            self.consumer[change.key] = change

    def _pod(self, name: str, uid: str, **spec: Any) -> wire.Pod:
        self.version += 1
        meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(self.version)}
        return msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": "Running"}}, wire.Pod)

    @rule(name=NAMES, priority=PRIORITIES)
    def put(self, name: str, priority: int) -> None:
        before = self.truth.get(name)
        uid = before.metadata.uid if before else f"uid-{self.version}"
        self.truth[name] = self._pod(name, uid, priority=priority)
        self.on_the_way.append(Event("MODIFIED" if before else "ADDED", self.truth[name]))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        before = self.truth.pop(name, None)
        if before is not None:
            last = self._pod(name, before.metadata.uid, priority=before.spec.priority)
            self.on_the_way.append(Event("DELETED", last))

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data())
    def deliver_any(self, data: st.DataObject) -> None:
        chosen = self.on_the_way.pop(data.draw(st.integers(0, len(self.on_the_way) - 1)))
        self.heard.append(chosen)
        self._apply(WatchBatch(PODS, Stage.WATCH, [chosen]))

    @precondition(lambda self: self.heard)
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        self._apply(WatchBatch(PODS, Stage.WATCH, [data.draw(st.sampled_from(self.heard))]))

    @rule()
    def bookmark(self) -> None:
        """A bookmark comes when all before it was sent."""
        self._drain()
        self._apply(WatchBatch(PODS, Stage.WATCH, resource_version=str(self.version)))

    @rule(is_broken_off=st.booleans(), data=st.data())
    def list_anew(self, is_broken_off: bool, data: st.DataObject) -> None:
        """After a gap: what was on the way is lost; what is listed is all there is."""
        self.heard += self.on_the_way
        self.on_the_way.clear()
        if is_broken_off:
            self._apply(WatchBatch(PODS, Stage.LIST_BEGINS))
            for name in sorted(self.truth)[: data.draw(st.integers(0, 2))]:
                self._apply(WatchBatch(PODS, Stage.LIST, [Event("ADDED", self.truth[name])]))
        self._apply(WatchBatch(PODS, Stage.LIST_BEGINS))
        for name in sorted(self.truth):
            self._apply(WatchBatch(PODS, Stage.LIST, [Event("ADDED", self.truth[name])]))
        self._apply(WatchBatch(PODS, Stage.LIST_ENDS, resource_version=str(self.version)))
        self._agree()

    @invariant()
    def the_consumer_knows_what_the_cache_knows(self) -> None:
        assert self.consumer == {held.key: held for held in self.cache.pods()}

    @invariant()
    def with_nothing_on_the_way_the_cache_is_the_truth(self) -> None:
        if not self.on_the_way:
            self._agree()

    def teardown(self) -> None:
        self._drain()
        self._agree()

    def _drain(self) -> None:
        self._apply(WatchBatch(PODS, Stage.WATCH, self.on_the_way))
        self.heard += self.on_the_way
        self.on_the_way = []

    def _agree(self) -> None:
        have = {held.name: (held.uid, held.pod.priority) for held in self.cache.pods()}
        assert have == {name: (pod.metadata.uid, pod.spec.priority) for name, pod in self.truth.items()}


TestDeliveries = Deliveries.TestCase
TestDeliveries.settings = settings(max_examples=150, stateful_step_count=40)
