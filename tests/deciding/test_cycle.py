"""One attempt: what is decided, said and searched for, without a server."""

import itertools
from dataclasses import replace

import pytest

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.decision import Decision
from longshore.core.words.happening import Happening
from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodeSelectorTerm, Pod
from longshore.deciding.assume import ClusterView
from longshore.deciding.cycle import NO_NODES, Cycle
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.deciding.helping import UNSUPPORTED, could_help
from longshore.deciding.preempt import UNFINISHED
from longshore.filters import static_parts
from support.builders import make_node, make_pod


def cycle_of(*nodes: str, cpu: str = "4") -> Cycle:
    view = ClusterView(LiveCluster(static_parts()))
    for name in nodes:
        view.put_node(make_node(name).cpu(cpu).build())
    return Cycle(Decider(find_policy("kube-default")), view)


def pod(name: str, cpu: str = "1", priority: int = 0) -> Pod:
    return replace(make_pod(name).cpu(cpu).priority(priority).build(), uid=name)


def attempt(cycle: Cycle, asked: Pod, **more: object) -> Decision:
    return cycle.attempt(asked, **more)[0]  # type: ignore[arg-type]


def test_a_pod_that_fits_gets_a_node():
    decision, preemption = cycle_of("a").attempt(pod("p"))
    assert (decision.node, decision.pending_reason, preemption) == ("a", None, None)


def test_an_empty_cluster_is_said_in_upstreams_words_and_tried_again_by_backoff():
    decision = attempt(cycle_of(), pod("p"))
    assert (decision.pending_reason, decision.rejectors) == (NO_NODES, frozenset())


def test_where_nobody_could_leave_no_search_is_made_and_the_words_are_the_same():
    cycle = cycle_of("a", "b")
    cycle.view.assume(pod("x", cpu="4"), "a", None, 0.0)
    quick = attempt(cycle, pod("p", cpu="4", priority=-1))
    assert quick.node == "b"
    cycle.view.assume(pod("y", cpu="4"), "b", None, 0.0)
    quick = attempt(cycle, pod("p", cpu="4"))
    searched = attempt(cycle, pod("p", cpu="4", priority=0))
    assert quick.pending_reason == searched.pending_reason
    assert quick.pending_reason == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    assert quick.rejectors == {"NodeResourcesFit"}


def test_pods_alike_fail_alike_without_being_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    cycle = cycle_of("a", cpu="1")
    first = attempt(cycle, pod("p0", cpu="2"))
    monkeypatch.setattr(cycle.decider, "decide", None)  # nobody may ask
    second = attempt(cycle, pod("p1", cpu="2"))
    assert (second.pod, second.pending_reason) == ("default/p1", first.pending_reason)
    monkeypatch.undo()
    cycle.view.put_node(make_node("b").cpu("4").build())
    assert attempt(cycle, pod("p2", cpu="2")).node == "b"


def test_a_preemptor_gets_victims_and_its_room_is_kept():
    cycle = cycle_of("a", cpu="2")
    cycle.view.assume(pod("victim", cpu="2"), "a", None, 0.0)
    boss = pod("boss", cpu="2", priority=10)
    decision, preemption = cycle.attempt(boss)
    assert preemption is not None
    assert (preemption.node, [victim.name for victim in preemption.victims]) == ("a", ["victim"])
    assert decision.pending_reason == "0/1 nodes are available: 1 Insufficient cpu."
    cycle.nominations.put(boss, "a")
    cycle.view.drop_running("default/victim")
    small = attempt(cycle, pod("small"))
    assert (small.node, small.rejectors) == (None, {"NodeResourcesFit"})
    assert small.pending_reason.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert attempt(cycle, pod("higher", priority=11)).node == "a"
    assert attempt(cycle, boss).node == "a"


def test_a_nominated_pod_goes_to_its_node_even_if_another_is_better():
    cycle = cycle_of("a", "b")
    cycle.view.assume(pod("x", cpu="2"), "b", None, 0.0)
    boss = pod("boss", priority=10)
    assert attempt(cycle, boss).node == "a"
    cycle.nominations.put(boss, "b")
    assert attempt(cycle, boss).node == "b"
    cycle.nominations.put(boss, "gone")
    assert attempt(cycle, boss).node == "a"


def test_while_victims_are_told_to_leave_nobody_else_is_looked_for():
    cycle = cycle_of("a", cpu="2")
    cycle.view.assume(pod("victim", cpu="2"), "a", None, 0.0)
    assert cycle.attempt(pod("boss", cpu="2", priority=10), is_preempting=True)[1] is None


def test_a_search_goes_on_with_the_next_attempt():
    cycle = cycle_of("a", "b")
    for node in "ab":
        cycle.view.put_running(replace(pod(f"on-{node}", cpu="4"), bound_to=node))
    boss = pod("boss", cpu="2", priority=5)
    cycle.clock = itertools.count().__next__
    assert cycle.attempt(boss, search_seconds=0.0)[1] == UNFINISHED
    found = [cycle.attempt(boss, search_seconds=0.5)[1] for _ in range(4)]
    assert found[0] == UNFINISHED
    last = next(each for each in found if each != UNFINISHED)
    assert last is not None
    assert [victim.name for victim in last.victims] == [f"on-{last.node}"]


def test_room_that_comes_free_during_a_search_is_taken():
    cycle = cycle_of("a", "b")
    for node in "ab":
        cycle.view.put_running(replace(pod(f"on-{node}", cpu="4"), bound_to=node))
    boss = pod("boss", cpu="2", priority=5)
    cycle.clock = itertools.count().__next__
    assert cycle.attempt(boss, search_seconds=0.5)[1] == UNFINISHED
    cycle.view.drop_running("default/on-b")
    decisions = [cycle.attempt(boss, search_seconds=0.5) for _ in range(3)]
    assert [(decision.node, preemption) for decision, preemption in decisions if decision.node][:1] == [("b", None)]
    assert not any(preemption is not None and preemption.victims for _, preemption in decisions)


def test_a_pod_for_a_node_that_does_not_exist_waits_for_nodes():
    """Without the rejector it would be tried again after every backoff, for ever."""
    term = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("ghost",)),))
    lost = pod("lost")
    lost = replace(lost, spec=replace(lost.spec, node_affinity=(term,)))
    decision = attempt(cycle_of("a", "b"), lost)
    assert decision.rejectors == {""}
    assert could_help(Happening.NODE_ADDED, "")
    assert not could_help(Happening.POD_DELETED, "")


def test_a_policy_that_fails_in_ever_new_words_is_not_remembered_for_ever():
    cycle = cycle_of("a")
    number = itertools.count()

    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"node {next(number)}")

    cycle = Cycle(Decider(replace(find_policy("best-fit"), score=fail)), cycle.view)
    for each in range(1000):
        attempt(cycle, pod(f"p{each}"))
    assert len(cycle._told) <= 100


def test_without_the_right_to_evict_no_preemption_is_tried():
    cycle = cycle_of("a", cpu="2")
    cycle.view.assume(pod("victim", cpu="2"), "a", None, 0.0)
    cycle.may_preempt = False
    decision, preemption = cycle.attempt(pod("boss", cpu="2", priority=10))
    assert (preemption, decision.pending_reason) == (None, "0/1 nodes are available: 1 Insufficient cpu.")


def test_an_unsupported_need_waits_for_a_change_that_could_help():
    asked = replace(pod("p"), unmodelled=("spec.resourceClaims",))
    decision = attempt(cycle_of("a"), asked)
    assert decision.rejectors == {UNSUPPORTED}
    assert "spec.resourceClaims" in decision.pending_reason
