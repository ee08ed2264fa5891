"""Preemption: upstream's situations by hand, and random clusters against a slow twin that encodes every trial anew."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from longshore import filters
from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Rejection
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, Pod, SpreadConstraint
from longshore.core.words.snapshot import Snapshot
from longshore.deciding.budgets import violating
from longshore.deciding.preempt import CHANGED, Preemption, VictimSearch, eligibility, fit_message, preempt
from longshore.deciding.trial_room import Move
from longshore.deciding.victims import Search
from longshore.kube.context import DisruptionBudget
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod
from support.compiling import encode

LOW, MIDDLE, HIGH, VERY_HIGH = 0, 100, 1000, 10_000
APP = Selector((Requirement("app", "In", ("x",)),))


def running(pod: PodBuilder, node: str, priority: int = LOW, started: float = 0.0) -> Pod:
    return replace(pod.priority(priority).on(node).build(), started=started)


def leaving(pod: Pod, *, is_being_preempted: bool = False) -> Pod:
    return replace(pod, spec=replace(pod.spec, is_terminating=True), is_being_preempted=is_being_preempted)


class Case:
    """A cluster with running pods and one that waits."""

    def __init__(self, nodes: Sequence[NodeBuilder], others: Sequence[Pod], pod: PodBuilder) -> None:
        self.nodes = [node.build() for node in nodes]
        self.others, self.pod = list(others), pod.build()

    def on(self, node: str) -> list[Pod]:
        return [other for other in self.others if other.bound_to == node]

    def encoded(self, *more: Pod) -> Encoded:
        pods = (*self.others, self.pod, *more)
        return encode(Snapshot(nodes=tuple(self.nodes), pods=pods))

    def judge(self, encoded: Encoded) -> dict[str, Rejection]:
        return filters.judge(encoded, encoded.class_of(self.pod))[1]

    def preempt(
        self, budgets: Sequence[DisruptionBudget] = (), kept: Sequence[tuple[str, Pod]] = (), offset: int = 0
    ) -> Preemption:
        encoded = self.encoded(*(pod for _, pod in kept))
        moves = [Move(encoded.node_index[node], pod) for node, pod in kept]
        search = Search(filters.UPSTREAM, self.on, budgets, moves, offset)
        return preempt(encoded, self.pod, self.judge(encoded), search)


def names(preemption: Preemption) -> tuple[str | None, list[str]]:
    return preemption.node, [victim.name for victim in preemption.victims]


def one_pod_nodes(*names: str) -> list[NodeBuilder]:
    return [make_node(name).pods(1) for name in names]


def test_a_pod_of_higher_priority_takes_the_place_of_another():
    case = Case(one_pod_nodes("a"), [running(make_pod("v"), "a")], make_pod("p").priority(HIGH))
    assert names(case.preempt()) == ("a", ["v"])


def test_equal_priority_takes_nothing():
    case = Case(one_pod_nodes("a"), [running(make_pod("v"), "a", HIGH)], make_pod("p").priority(HIGH))
    found = case.preempt()
    assert names(found) == (None, [])
    assert found.message == "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert found.clears_nomination


def test_a_node_that_can_never_take_the_pod_is_not_tried():
    tainted = make_node("a").pods(1).taint("off")
    case = Case([tainted], [running(make_pod("v"), "a")], make_pod("p").priority(HIGH))
    found = case.preempt()
    assert (found.node, found.message) == (
        None,
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


def test_a_filter_after_the_one_that_rejected_first_still_counts():
    # Room is short (resolvable), and the port is held by a pod that may not be evicted.
    holder = running(make_pod("holder").host_port(80), "a", VERY_HIGH)
    small = running(make_pod("small").cpu("3"), "a")
    case = Case([make_node("a").cpu("4")], [holder, small], make_pod("p").cpu("2").host_port(80).priority(HIGH))
    found = case.preempt()
    assert (found.node, found.message) == (
        None,
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    )


def test_reasons_are_counted_over_all_kinds_of_nodes():
    nodes = [make_node("a").cpu("2"), make_node("b").cpu("2"), make_node("c").cpu("1"), make_node("d").cpu("2")]
    others = [
        running(make_pod("a1").cpu("1"), "a"),
        running(make_pod("a2").cpu("1"), "a", HIGH),  # stays, and leaves too little
        running(make_pod("b1").cpu("2"), "b", HIGH),
        running(make_pod("d1").cpu("1"), "d", HIGH),
        running(make_pod("d2").cpu("500m"), "d"),
    ]
    found = Case(nodes, others, make_pod("p").cpu("2").priority(HIGH)).preempt()
    assert found.message == (
        "0/4 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling, 2 Insufficient cpu."
    )


def test_the_more_important_come_back_first():
    others = [
        running(make_pod("low").cpu("1"), "a", LOW),
        running(make_pod("middle").cpu("1"), "a", MIDDLE),
        running(make_pod("high").cpu("2"), "a", HIGH),
    ]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("1").priority(VERY_HIGH))
    assert names(case.preempt()) == ("a", ["low"])


def test_a_small_pod_of_lower_priority_stays_where_the_large_one_has_to_go():
    others = [
        running(make_pod("small").cpu("500m"), "a", LOW),
        running(make_pod("large").cpu("3500m"), "a", MIDDLE),
    ]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("3").priority(HIGH))
    assert names(case.preempt()) == ("a", ["large"])


def test_of_equal_priorities_the_one_that_started_last_goes():
    others = [running(make_pod("old").cpu("2"), "a", LOW, 10.0), running(make_pod("new").cpu("2"), "a", LOW, 20.0)]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("2").priority(HIGH))
    assert names(case.preempt()) == ("a", ["new"])


@pytest.mark.parametrize(
    ("on_a", "on_b", "want"),
    [
        pytest.param([(MIDDLE, 0)], [(LOW, 0)], "b", id="the lowest highest priority"),
        pytest.param([(MIDDLE, 0), (MIDDLE, 0)], [(MIDDLE, 0), (LOW, 0)], "b", id="then the smallest sum"),
        pytest.param([(-5, 0), (-5, 0)], [(-5, 0)], "b", id="negative priorities do not weigh less for being more"),
        pytest.param([(LOW, 5)], [(LOW, 9)], "b", id="then the latest start"),
        pytest.param([(LOW, 9), (-1, 1)], [(LOW, 8), (-1, 9)], "a", id="only the most important victims' start counts"),
        pytest.param([(LOW, 1)], [(LOW, 1)], "a", id="then the name"),
    ],
)
def test_the_node_is_picked_by_upstreams_criteria(
    on_a: list[tuple[int, float]], on_b: list[tuple[int, float]], want: str
):
    others = [
        running(make_pod(f"{node}{i}").cpu(4000 // len(pods)), node, priority, started)
        for node, pods in (("a", on_a), ("b", on_b))
        for i, (priority, started) in enumerate(pods)
    ]
    case = Case([make_node("a").cpu("4"), make_node("b").cpu("4")], others, make_pod("p").cpu("4").priority(HIGH))
    assert case.preempt().node == want


def test_breaking_no_budget_comes_before_a_lower_priority():
    others = [running(make_pod("a1").label("app", "x"), "a", LOW), running(make_pod("b1"), "b", MIDDLE)]
    case = Case(one_pod_nodes("a", "b"), others, make_pod("p").priority(HIGH))
    assert names(case.preempt()) == ("a", ["a1"])
    assert names(case.preempt([DisruptionBudget("default", "x", APP, 0)])) == ("b", ["b1"])


def test_a_budget_is_broken_where_nothing_else_helps():
    case = Case(one_pod_nodes("a"), [running(make_pod("v").label("app", "x"), "a")], make_pod("p").priority(HIGH))
    found = case.preempt([DisruptionBudget("default", "x", APP, 0)])
    assert (names(found), found.num_violations) == (("a", ["v"]), 1)


def test_on_a_node_those_under_a_budget_come_back_before_more_important_ones():
    others = [
        running(make_pod("kept").cpu("2").label("app", "x"), "a", LOW),
        running(make_pod("goes").cpu("2"), "a", MIDDLE),
    ]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("2").priority(HIGH))
    assert names(case.preempt()) == ("a", ["kept"])
    assert names(case.preempt([DisruptionBudget("default", "x", APP, 0)])) == ("a", ["goes"])


def test_a_budget_counts_down_over_the_victims_of_a_node():
    others = [running(make_pod(f"v{i}").cpu("2").label("app", "x"), "a", LOW, float(i)) for i in range(2)]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("4").priority(HIGH))
    assert case.preempt([DisruptionBudget("default", "x", APP, 1)]).num_violations == 1
    assert case.preempt([DisruptionBudget("default", "x", APP, 2)]).num_violations == 0
    disrupted = DisruptionBudget("default", "x", APP, 0, frozenset({"v0", "v1"}))
    assert case.preempt([disrupted]).num_violations == 0


def test_a_pod_kept_away_by_anti_affinity_evicts_only_those_it_dislikes():
    away = AffinityTerm("kubernetes.io/hostname", APP)
    node = make_node("a").cpu("4").label("kubernetes.io/hostname", "a")
    others = [running(make_pod("x").label("app", "x"), "a"), running(make_pod("y").label("app", "y"), "a")]
    case = Case([node], others, make_pod("p").priority(HIGH).spec(anti_affinity=(away,)))
    assert names(case.preempt()) == ("a", ["x"])


def test_a_pod_that_breaks_its_spread_evicts_where_that_helps():
    spread = SpreadConstraint(1, "zone", True, APP)
    nodes = [make_node(name).label("zone", zone) for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"))]
    nodes[2] = nodes[2].pods(1)
    others = [
        running(make_pod("x1").label("app", "x"), "a1"),
        running(make_pod("x2").label("app", "x"), "a2"),
        running(make_pod("x3").label("app", "x"), "b1", VERY_HIGH),
    ]
    case = Case(nodes, others, make_pod("p").label("app", "x").priority(HIGH).spec(spread=(spread,)))
    found = case.preempt()
    assert names(found) in ((("a1"), ["x1"]), (("a2"), ["x2"]))


def test_room_kept_for_a_nominated_pod_is_not_free():
    others = [running(make_pod("v").cpu("4"), "a")]
    case = Case([make_node("a").cpu("4")], others, make_pod("p").cpu("2").priority(HIGH))
    assert case.preempt().node == "a"
    nominated = make_pod("n").cpu("3").priority(HIGH).build()
    found = case.preempt(kept=[("a", nominated)])
    assert (found.node, found.message) == (None, "0/1 nodes are available: 1 Insufficient cpu.")
    small = make_pod("n").cpu("2").priority(HIGH).build()
    assert names(case.preempt(kept=[("a", small)])) == ("a", ["v"])


def test_devices_are_freed_with_their_holder():
    holder = make_pod("v").gpu(2).on("a", (0, 1)).build()
    case = Case([make_node("a").gpu(2)], [holder], make_pod("p").gpu(1).priority(HIGH))
    assert names(case.preempt()) == ("a", ["v"])


@pytest.mark.parametrize(("allowed", "want"), [(1, 100), (0, 150)])
def test_the_search_ends_with_enough_candidates_once_one_of_them_breaks_no_budget(allowed: int, want: int):
    names_of_nodes = [f"n{i:03d}" for i in range(150)]
    others = [running(make_pod(f"v{name}").label("app", "x"), name) for name in names_of_nodes]
    case = Case(one_pod_nodes(*names_of_nodes), others, make_pod("p").priority(HIGH))
    asked: list[str] = []

    def running_on(node: str) -> list[Pod]:
        asked.append(node)
        return case.on(node)

    encoded = case.encoded()
    budgets = [DisruptionBudget("default", "x", APP, allowed)]
    search = Search(filters.UPSTREAM, running_on, budgets, offset=140)
    found = preempt(encoded, case.pod, case.judge(encoded), search)
    assert (len(asked), asked[0], asked[10]) == (want, "n140", "n000")
    assert (found.node, found.num_violations) == ("n000", 1 - allowed)


@pytest.mark.parametrize(
    ("nominated", "other", "want"),
    [
        ("a", leaving(make_pod("v").on("a").build()), ""),
        (
            "a",
            leaving(make_pod("v").on("a").build(), is_being_preempted=True),
            "not eligible due to a terminating pod on the nominated node.",
        ),
        ("a", leaving(make_pod("v").priority(HIGH).on("a").build(), is_being_preempted=True), ""),
        ("gone", leaving(make_pod("v").on("a").build(), is_being_preempted=True), ""),
    ],
)
def test_a_pod_waits_for_the_victims_it_has(nominated: str, other: Pod, want: str):
    case = Case(one_pod_nodes("a"), [other], make_pod("p").priority(HIGH))
    assert eligibility(case.pod, nominated, case.judge(case.encoded()), case.on) == want


def interrupted(case: Case, change: Callable[[int], None]) -> Preemption:
    """Search with a change of the cluster between any two steps, and ask again in the end."""
    look = lambda: (case.encoded(), Search(filters.UPSTREAM, case.on))  # noqa: E731
    encoded, search = look()
    found = VictimSearch(encoded, case.pod, case.judge(encoded), search)
    for number, _ in enumerate(found.steps(look)):
        change(number)
    encoded, search = look()
    return found.result(encoded, search, is_fresh=False)


def two_of_four() -> Case:
    """Four nodes with two pods each; on `a` and `b` the least has to leave."""
    nodes = [make_node(name).cpu("4") for name in "abcd"]
    sizes = {"a": "1", "b": "1", "c": "2", "d": "2"}
    others = [
        running(make_pod(f"{name}{i}").cpu(sizes[name]), name, LOW if name in "ab" else MIDDLE, float(name == "a"))
        for name in "abcd"
        for i in range(2)
    ]
    return Case(nodes, others, make_pod("p").cpu("3").priority(HIGH))


def test_a_search_that_is_interrupted_finds_the_same_if_nothing_changes():
    case = two_of_four()
    assert interrupted(case, lambda _: None) == case.preempt()
    assert names(case.preempt()) == ("a", ["a1"])


def test_a_node_that_goes_during_the_search_is_not_chosen():
    case = two_of_four()

    def change(number: int) -> None:
        if number == 0:
            case.nodes = [node for node in case.nodes if node.name != "a"]
            case.others = [other for other in case.others if other.bound_to != "a"]

    assert names(interrupted(case, change))[0] == "b"


def test_a_node_that_filled_during_the_search_is_asked_again():
    """With two more pods on `a`, three have to leave there: `b` is better now."""
    case = two_of_four()
    steps = 0

    def change(number: int) -> None:
        nonlocal steps
        steps = number
        if number == 1:
            case.others += [running(make_pod(f"more{i}").cpu("1"), "a") for i in range(2)]

    assert names(interrupted(case, change))[0] == "b"
    assert steps == 1


def test_a_search_whose_nodes_have_all_changed_finds_nobody_and_does_not_blame_the_pods():
    case = two_of_four()

    def change(number: int) -> None:
        if number == 1:
            case.others = [replace(other, priority=VERY_HIGH) for other in case.others]

    assert interrupted(case, change) == Preemption(None, message=CHANGED)


# The slow twin: every question about a node is answered by encoding a cluster in which the pods are as they would be.


def fits(case: Case, node: str, away: set[str], kept: Sequence[tuple[str, Pod]]) -> bool:
    for extra in ([pod for at, pod in kept if at == node], []):
        pods = [other for other in case.others if other.name not in away]
        pods += [replace(pod, bound_to=node) for pod in extra]
        encoded = encode(Snapshot(nodes=tuple(case.nodes), pods=(*pods, case.pod)))
        mask = filters.judge(encoded, encoded.class_of(case.pod))[0]
        if not mask[encoded.node_index[node]]:
            return False
    return True


def slow(case: Case, budgets: Sequence[DisruptionBudget], kept: Sequence[tuple[str, Pod]]) -> dict[str, tuple]:
    found = {}
    for node, rejection in case.judge(case.encoded()).items():
        potential = [other for other in case.on(node) if other.priority < case.pod.priority]
        away = {other.name for other in potential}
        if not rejection.is_resolvable or not potential or not fits(case, node, away, kept):
            continue
        potential.sort(key=lambda other: (-other.priority, other.started))
        breaks = violating(potential, budgets)
        num_violations, victims = 0, []
        for turn in (True, False):
            for other, is_violating in zip(potential, breaks, strict=True):
                if is_violating is not turn:
                    continue
                if fits(case, node, away - {other.name}, kept):
                    away.discard(other.name)
                else:
                    victims.append(other)
                    num_violations += is_violating
        if victims:
            top = max(victim.priority for victim in victims)
            found[node] = (
                num_violations,
                top,
                sum(victim.priority + 2**31 for victim in victims),
                len(victims),
                -min(victim.started for victim in victims if victim.priority == top),
                node,
                {victim.name for victim in victims},
            )
    return found


def random_case(rng: random.Random, kind: str) -> Case:
    nodes = [
        make_node(f"n{i}").cpu(rng.choice([2000, 4000])).pods(rng.choice([3, 110])).label("zone", rng.choice("ab"))
        for i in range(rng.randint(2, 5))
    ]
    others = []
    for i in range(rng.randint(4, 14)):
        pod = make_pod(f"o{i}").cpu(rng.choice([250, 500, 1000])).label("app", rng.choice("xy"))
        if rng.random() < 0.2:
            pod = pod.host_port(rng.choice([80, 81]))
        if kind == "repelled" and rng.random() < 0.3:
            pod = pod.spec(anti_affinity=(AffinityTerm("zone", APP),))
        others.append(running(pod, f"n{rng.randrange(len(nodes))}", rng.choice([0, 0, 1, 5, 20]), rng.randrange(5)))
    pod = make_pod("p").cpu(rng.choice([500, 1500, 2500])).label("app", "x").priority(10)
    if rng.random() < 0.3:
        pod = pod.host_port(80)
    if kind == "spread":
        pod = pod.spec(spread=(SpreadConstraint(1, "zone", True, APP),))
    if kind == "anti":
        pod = pod.spec(anti_affinity=(AffinityTerm("zone", APP),))
    return Case(nodes, others, pod)


@pytest.mark.parametrize("kind", ["local", "spread", "anti", "repelled"])
def test_random_clusters_agree_with_the_slow_twin(kind: str):
    rng, outcomes = random.Random(kind), Counter[bool]()
    for _ in range(40):
        case = random_case(rng, kind)
        budgets = [DisruptionBudget("default", "x", APP, rng.choice([0, 1, 2]))] if rng.random() < 0.5 else []
        kept = []
        if rng.random() < 0.4:
            kept = [(case.nodes[0].name, make_pod("kept").cpu(500).label("app", "y").priority(10).build())]
        encoded = case.encoded()
        if filters.judge(encoded, encoded.class_of(case.pod))[0].any():
            continue
        found, want = case.preempt(budgets, kept), slow(case, budgets, kept)
        best = min((entry[:6] for entry in want.values()), default=None)
        assert (found.node is None) == (best is None)
        outcomes[found.node is None] += 1
        if best is not None:
            assert found.node == best[5]
            assert {victim.name for victim in found.victims} == want[best[5]][6]
            assert found.num_violations == best[0]
    assert outcomes[False] >= 5


def test_a_reason_is_counted_and_one_that_is_not_about_nodes_is_not():
    assert fit_message(3, {"Too many pods": 1, "Insufficient cpu": 2}) == (
        "0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu."
    )
    assert fit_message(3, {"pod affinity terms conflict": 3}) == "0/3 nodes are available: pod affinity terms conflict."
