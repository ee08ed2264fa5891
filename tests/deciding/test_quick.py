"""Quick decisions: the same choice as `decide`, for every policy there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import rich_snapshot, unbound
from longshore import filters
from longshore.core.arrays.encode import Encoded, encode
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, Pod, WeightedAffinityTerm
from longshore.deciding.decide import Chooser, decide, decide_all
from longshore.deciding.quick import NUM_CANDIDATES, QuickDecider, QuickDecision
from longshore.policies import REGISTRY
from longshore.policies.learned import learned
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.bundle_samples import make_dial, make_fixed, make_hybrid, make_policy

SAMPLES = {
    "deepsets": make_policy(),
    "hybrid": make_hybrid("kube-default"),
    "dial": make_dial(),
    "fixed": make_fixed(6),
    "waits": make_policy(may_defer=True),
}
LATENCY = filters.filter_set("upstream+latency")


def choosers() -> dict[str, Chooser]:
    """Every policy of the registry, and policies of bundles, with and without what they keep."""
    found = {name: Chooser(name, REGISTRY.load(name)) for name in REGISTRY.names()}
    for name, policy in SAMPLES.items():
        found[name] = Chooser(name, learned(policy), LATENCY)
        found[f"{name}, kept"] = Chooser(name, learned(policy, keeps_rows=True), LATENCY)
    return found


def assert_same(quick: QuickDecision, encoded: Encoded, pod: Pod, chooser: Chooser) -> None:
    want, after = decide(encoded, pod, chooser)
    assert (quick.pod, quick.policy, quick.node, quick.runner_up) == (want.pod, want.policy, want.node, want.runner_up)
    assert quick.pending_reason == want.pending_reason
    assert quick.num_feasible == len(want.scores)
    assert len(quick.candidates) == min(len(want.scores), NUM_CANDIDATES)
    for name, score in quick.candidates:
        assert score == pytest.approx(want.scores[name], rel=1e-4, abs=1e-4)
    if want.node is not None:
        assert quick.score == pytest.approx(want.scores[want.node], rel=1e-4, abs=1e-4)
        row = encoded.node_index[want.node]
        taken = after.arrays.state.gpu_used[row] - encoded.arrays.state.gpu_used[row]
        assert (quick.devices or ()) == tuple(np.flatnonzero(taken).tolist())
    if not want.scores and not quick.is_held_back:
        assert quick.rejectors == {one.filter for one in want.rejections.values()} - {""}
        assert quick.num_resolvable == sum(one.is_resolvable for one in want.rejections.values())


@pytest.mark.parametrize("name", choosers())
def test_the_choice_is_that_of_decide(name: str) -> None:
    chooser = choosers()[name]
    for seed in range(3):
        encoded = encode(random_snapshot(seed))
        decider = QuickDecider(chooser)
        for pod in encoded.snapshot.pending:
            assert_same(decider.decide(encoded, pod), encoded, pod, chooser)
            encoded = decide(encoded, pod, chooser)[1]


@given(st.integers(0, 2**31).map(rich_snapshot))
@settings(max_examples=25)
def test_the_choice_is_that_of_decide_with_every_constraint(snapshot) -> None:
    encoded, chooser = encode(unbound(snapshot)), Chooser("kube-default", REGISTRY.load("kube-default"))
    for pod in encoded.snapshot.pods:
        assert_same(QuickDecider(chooser).decide(encoded, pod), encoded, pod, chooser)


def test_the_class_of_the_next_pod_is_told_to_the_policy() -> None:
    told = []

    def score(arrays, _pod_class, feasible):
        told.append(int(arrays.state.next_class))
        return np.zeros(feasible.shape)

    heuristic = replace(REGISTRY.load("first-fit"), score=score)
    encoded = encode(make_snapshot(make_node("a"), make_pod("one"), make_pod("two").cpu(1)))
    decider = QuickDecider(Chooser("told", heuristic))
    one, two = encoded.snapshot.pending
    decider.decide(encoded, one, encoded.class_of(two))
    decider.decide(encoded, one)
    assert told == [encoded.class_of(two), -1]
    assert int(encoded.arrays.state.next_class) == -1


def test_nodes_that_are_not_allowed_are_not_chosen() -> None:
    encoded = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("one")))
    decider, (pod,) = QuickDecider(Chooser("first-fit", REGISTRY.load("first-fit"))), encoded.snapshot.pending
    assert decider.decide(encoded, pod).node == "a"
    assert decider.decide(encoded, pod, allowed=np.array([False, True])).node == "b"
    nowhere = decider.decide(encoded, pod, allowed=np.array([False, False]))
    assert nowhere.node is None
    assert nowhere.num_resolvable == 2
    assert nowhere.pending_reason.startswith("0/2 nodes are available: 2 node(s) had room only beside")


def test_reasons_are_counted_where_no_node_fits() -> None:
    encoded = encode(
        make_snapshot(make_node("a"), make_node("b"), make_node("c").taint("x"), make_pod("huge").cpu("99"))
    )
    found = QuickDecider(Chooser("kube-default", REGISTRY.load("kube-default"))).decide(
        encoded, encoded.snapshot.pending[0]
    )
    assert found.reasons == {"Insufficient cpu": 2, "node(s) had untolerated taint(s)": 1}
    assert found.rejectors == {"NodeResourcesFit", "TaintToleration"}
    assert found.num_resolvable == 0, "the pod is larger than every node"


def test_a_pod_that_is_held_back_is_not_compared_with_nodes() -> None:
    gated = replace(make_pod("gated").build(), scheduling_gates=("wait",))
    encoded = encode(make_snapshot(make_node("a")))
    found = QuickDecider(Chooser("kube-default", REGISTRY.load("kube-default"))).decide(encoded, gated)
    assert found.is_held_back
    assert found.pending_reason == "scheduling is gated by wait"


def test_time_is_taken_from_the_clock() -> None:
    ticks = iter([10.0, 10.25])
    encoded = encode(make_snapshot(make_node("a"), make_pod("one")))
    decider = QuickDecider(Chooser("kube-default", REGISTRY.load("kube-default")), clock=lambda: next(ticks))
    assert decider.decide(encoded, encoded.snapshot.pending[0]).seconds == 0.25


def test_a_series_of_quick_decisions_is_that_of_decide_all() -> None:
    chooser = Chooser("kube-default", REGISTRY.load("kube-default"))
    start = encode(random_snapshot(11, num_nodes=8, num_pods=30))
    encoded, decider = start, QuickDecider(chooser)
    for (want, after), pod in zip(decide_all(start, chooser), start.snapshot.pending, strict=True):
        assert decider.decide(encoded, pod).node == want.node
        encoded = after


def test_terms_of_other_classes_are_not_looked_at() -> None:
    wide = replace(
        make_pod("wide").build().spec,
        preferred_affinity=tuple(
            WeightedAffinityTerm(1, AffinityTerm(key, Selector((Requirement("x", "Exists"),)))) for key in "abc"
        ),
    )
    seen = []

    def score(arrays, _pod_class, feasible):
        seen.append((arrays.classes.preferred.query.shape[1], arrays.classes.preferred_weight.shape[1]))
        return np.zeros(feasible.shape)

    plain = make_pod("plain").cpu(1)
    encoded = encode(make_snapshot(make_node("a"), replace(make_pod("wide"), pod=Pod("wide", wide)), plain))
    decider = QuickDecider(Chooser("seen", replace(REGISTRY.load("first-fit"), score=score)))
    for pod in encoded.snapshot.pending:
        decider.decide(encoded, pod)
    assert seen == [(3, 3), (0, 0)]
