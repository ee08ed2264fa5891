"""Victims of some nodes: who goes, who comes back, and where others may have a turn. Against upstream: test_preempt."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from longshore import filters
from longshore.core.words.pod import Pod
from longshore.core.words.snapshot import Snapshot
from longshore.deciding.victims import NodesTried, Search, find_victims, finish, lower_on
from support.builders import make_node, make_pod
from support.compiling import encode

BOSS = make_pod("boss").cpu("3").priority(10).build()


def small(name: str, priority: int = 0) -> Pod:
    """Return a pod of one CPU; the first letter of its name is its node."""
    return make_pod(name).cpu("1").priority(priority).on(name[0]).build()


def search_of(pods: Sequence[Pod], *spared: str) -> Search:
    return Search(filters.UPSTREAM, lambda node: [pod for pod in pods if pod.bound_to == node], spared=spared)


def steps_on(nodes: str, pods: Sequence[Pod], *, is_local: bool = True) -> Generator[None, None, NodesTried]:
    """Try some of three nodes with four CPUs each."""
    snapshot = Snapshot(nodes=tuple(make_node(name).cpu("4").build() for name in "abc"), pods=(*pods, BOSS))
    search = search_of(pods)
    lower = {node: lower_on(node, BOSS, search) for node in nodes}
    return find_victims(encode(snapshot), BOSS, lower, search, is_local=is_local)


def names(found: NodesTried) -> dict[str, list[str]]:
    return {node: [pod.name for pod in victims.pods] for node, victims in found.victims.items()}


def test_pods_of_the_same_priority_and_spared_ones_may_not_be_asked():
    pods = [replace(small(name, priority), uid=name) for name, priority in (("a1", 0), ("a2", 10), ("a3", 0))]
    assert lower_on("a", BOSS, search_of(pods, "a3")) == [pods[0]]


def test_nodes_that_are_tried_together_do_not_touch_each_other():
    pods = [*(small(f"a{i}") for i in range(4)), small("b1"), small("b2", 5), *(small(f"c{i}", 10) for i in range(2))]
    found = finish(steps_on("ab", pods))
    assert {node: len(victims) for node, victims in names(found).items()} == {"a": 3, "b": 1}
    assert names(found)["b"] == ["b1"]


def test_a_node_tried_alone_has_the_same_victims():
    pods = [small("b1"), small("b2", 5), small("b3", 5)]
    assert names(finish(steps_on("b", pods, is_local=False))) == names(finish(steps_on("b", pods)))


def test_a_node_where_nobodys_leaving_is_enough_is_rejected():
    pods = [small("a1"), small("a2", 10), small("a3", 10)]
    found = finish(steps_on("a", pods))
    assert (found.victims, [each.reasons for each in found.rejections]) == ({}, [("Insufficient cpu",)])


def test_others_have_a_turn_before_every_pod_that_may_come_back():
    pods = [*(small(f"a{i}") for i in range(4)), small("b1"), small("b2")]
    assert len(list(steps_on("ab", pods))) == 4
