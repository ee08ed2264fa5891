"""Decisions: who goes where, why not elsewhere, and what holds a pod back."""

import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Decision
from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodePreference, NodeSelectorTerm, Pod, PodSpec
from longshore.core.words.snapshot import Snapshot
from longshore.deciding.decide import decide_all
from longshore.deciding.find import find_policy
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.policies.base import Policy
from support.builders import make_node, make_pod
from support.compiling import encode

NODES = (
    make_node("full").cpu("1").memory("1Gi").build(),
    make_node("small").cpu("2").memory("4Gi").build(),
    make_node("large").cpu("8").memory("16Gi").build(),
)


UNREADABLE = NodeSelectorTerm((Requirement("k", "Gt", ("x",)),))


def cluster(*pods: Pod) -> Encoded:
    return encode(Snapshot(nodes=NODES, pods=pods))


def decide(encoded: Encoded, pod: Pod, policy: Policy, objective: Weighted | None = None) -> tuple[Decision, Encoded]:
    """Decide for a cluster's only waiting pod."""
    ((decision, after),) = decide_all(encoded, policy, objective)
    assert decision.pod == pod.key
    return decision, after


def test_decide_explains_every_node():
    pod = make_pod("a").cpu("1500m").memory("2Gi").build()
    decision, _ = decide(cluster(pod), pod, find_policy("best-fit"))
    assert decision.node == "small"
    assert decision.runner_up == "large"
    assert set(decision.scores) == {"small", "large"}
    assert decision.rejections["full"].reasons == ("Insufficient cpu", "Insufficient memory")


@pytest.mark.parametrize("order", ["bca", "zca", "abc"])
def test_the_runner_up_is_what_would_be_chosen_without_the_first(order: str):
    pod = make_pod("p").cpu("100m").build()
    nodes = tuple(make_node(name).build() for name in order)
    decision, _ = decide(encode(Snapshot(nodes=nodes, pods=(pod,))), pod, find_policy("first-fit"))
    rest = tuple(node for node in nodes if node.name != decision.node)
    second, _ = decide(encode(Snapshot(nodes=rest, pods=(pod,))), pod, find_policy("first-fit"))
    assert decision.node == min(order)
    assert decision.runner_up == second.node == sorted(order)[1]


def test_a_single_candidate_has_no_runner_up():
    pod = make_pod("a").cpu("7").memory("2Gi").build()
    assert decide(cluster(pod), pod, find_policy("first-fit"))[0].runner_up is None


def test_decide_places_on_the_cluster_that_it_returns():
    pod = make_pod("a").cpu("1500m").memory("2Gi").build()
    before = cluster(pod)
    _, after = decide(before, pod, find_policy("best-fit"))
    assert before.arrays.state.pod_count.tolist() == [0, 0, 0]
    assert after.arrays.state.pod_count.tolist() == [0, 1, 0]


def test_decide_names_the_reward_of_each_objective():
    pod = make_pod("a").cpu("100m").build()
    decision, _ = decide(cluster(pod), pod, find_policy("first-fit"), parse_objective("ee=1,cost=2"))
    assert decision.terms == {"ee": 6.0, "cost": -2.0}


def test_decide_says_why_no_node_is_feasible_in_upstreams_words():
    pod = make_pod("a").cpu("64").memory("1Mi").build()
    decision, after = decide(cluster(pod), pod, find_policy("kube-default"))
    assert decision.node is None
    assert decision.pending_reason == "0/3 nodes are available: 3 Insufficient cpu."
    assert after.arrays.state.pod_count.sum() == 0


def test_decide_has_a_word_for_a_cluster_without_nodes():
    pod = make_pod("a").build()
    decision, _ = decide(encode(Snapshot(pods=(pod,))), pod, find_policy("kube-default"))
    assert decision.pending_reason == "0/0 nodes are available."


@pytest.mark.parametrize(
    ("pod", "want_reason"),
    [
        pytest.param(Pod("a", scheduling_gates=("wait",)), "scheduling is gated by wait", id="scheduling gate"),
        pytest.param(
            Pod("a", unmodelled=("spec.resourceClaims",)),
            "spec.resourceClaims needs DynamicResources",
            id="resource claim",
        ),
        pytest.param(Pod("a", PodSpec(is_terminating=True)), "it is being deleted", id="deletion"),
        pytest.param(
            Pod("a", PodSpec(node_preferences=(NodePreference(1, UNREADABLE),))),
            "spec.affinity.nodeAffinity has a requirement that upstream cannot read: `k Gt x`",
            id="a wish that upstream cannot read",
        ),
    ],
)
def test_decide_leaves_a_pod_pending_that_must_not_be_placed(pod: Pod, want_reason: str):
    decision, _ = decide(cluster(pod), pod, find_policy("random"))
    assert decision.node is None
    assert want_reason in (decision.pending_reason or "")


def test_decide_all_serves_the_highest_priority_first():
    low = Pod("low", make_pod("low").cpu("8").build().spec, priority=1)
    high = Pod("high", make_pod("high").cpu("7").build().spec, priority=9)
    decisions = [decision for decision, _ in decide_all(cluster(low, high), find_policy("kube-default"))]
    assert [(decision.pod, decision.node) for decision in decisions] == [
        ("default/high", "large"),
        ("default/low", None),
    ]


def test_decide_keeps_the_hard_latency_limit_only_in_the_set_that_has_it():
    far = make_node("far").cpu("8").memory("16Gi").readings(latency_ms=40.0).build()
    pod = make_pod("a").cpu("100m").latency(20.0, 30.0).build()
    encoded = encode(Snapshot(nodes=(far,), pods=(pod,)))
    assert decide(encoded, pod, find_policy("kube-default"))[0].node == "far"
    limited, _ = decide(encoded, pod, find_policy("kube-default", "upstream+latency"))
    assert limited.node is None
    assert limited.rejections["far"].filter == "LatencyLimit"


def waiting_policy(scores: tuple[float, ...]) -> Policy:
    return Policy(lambda *_: np.array(scores), may_defer=True, name="mine")


def test_decide_leaves_a_pod_waiting_that_the_policy_defers_and_says_so():
    pod = make_pod("a").cpu("1500m").build()
    decision, after = decide(cluster(pod), pod, waiting_policy((9.0, -2.0, -1.0)))
    assert decision.node is None
    assert decision.pending_reason == (
        "the policy prefers to wait: it scores every node that has room below 0, `large` highest"
    )
    assert (decision.runner_up, decision.scores) == ("large", {"small": -2.0, "large": -1.0})
    assert after.arrays.state.pod_count.sum() == 0


def test_decide_places_a_pod_for_which_some_node_is_no_worse_than_waiting():
    pod = make_pod("a").cpu("1500m").build()
    decision, _ = decide(cluster(pod), pod, waiting_policy((9.0, -2.0, 0.0)))
    assert (decision.node, decision.runner_up, decision.pending_reason) == ("large", "small", None)


def test_decide_all_tells_which_pod_comes_next():
    met: list[int] = []

    def score(arrays: ClusterArrays, _pod_class: Array, _feasible: Array) -> Array:
        met.append(int(arrays.state.next_class))
        return np.zeros(3)

    small, large = make_pod("small").cpu("100m").build(), make_pod("large").cpu("2").build()
    gated = Pod("gated", make_pod("gated").cpu("3").build().spec, scheduling_gates=("wait",))
    urgent = Pod("urgent", make_pod("urgent").cpu("1").build().spec, priority=5)
    start = cluster(small, gated, large, urgent)
    list(decide_all(start, Policy(score, name="mine")))
    assert met == [start.class_of(small), start.class_of(large), -1]
