"""Decisions: the same as when nothing is kept, for every policy there is, and what they tell about the nodes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import rich_snapshot, unbound
from deciding.plain import decide_plainly
from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Decision
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, Pod, WeightedAffinityTerm
from longshore.deciding import decider
from longshore.deciding.decide import decide_all
from longshore.deciding.decider import NUM_CANDIDATES, Decider
from longshore.deciding.find import find_policy
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from longshore.policies.learned import learned
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.bundle_samples import make_bundle, make_dial, make_fixed, make_hybrid
from support.compiling import encode

SAMPLES = {
    "deepsets": make_bundle(),
    "hybrid": make_hybrid("kube-default"),
    "dial": make_dial(),
    "fixed": make_fixed(6),
    "waits": make_bundle(may_defer=True),
}


def policies() -> dict[str, Policy]:
    """Every policy of the registry, and policies of bundles, with and without what they keep."""
    found = {name: find_policy(name) for name in REGISTRY.names()}
    for name, bundle in SAMPLES.items():
        found[name] = learned(bundle)
        found[f"{name}, kept"] = learned(bundle, keeps_rows=True)
    return found


def assert_same(quick: Decision, encoded: Encoded, pod: Pod, policy: Policy) -> None:
    want, after = decide_plainly(encoded, pod, policy)
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
        assert quick.rejectors == {one.filter for one in want.rejections.values()}
        assert quick.num_resolvable == sum(one.is_resolvable for one in want.rejections.values())


@pytest.mark.parametrize("name", policies())
def test_the_choice_is_the_plain_one(name: str) -> None:
    policy = policies()[name]
    for seed in range(3):
        encoded = encode(random_snapshot(seed))
        decider = Decider(policy)
        for pod in encoded.snapshot.pending:
            assert_same(decider.decide(encoded, pod), encoded, pod, policy)
            encoded = decide_plainly(encoded, pod, policy)[1]


@given(st.integers(0, 2**31).map(rich_snapshot))
@settings(max_examples=25)
def test_the_choice_is_the_plain_one_with_every_constraint(snapshot) -> None:
    encoded, policy = encode(unbound(snapshot)), find_policy("kube-default")
    for pod in encoded.snapshot.pods:
        assert_same(Decider(policy).decide(encoded, pod), encoded, pod, policy)


def test_the_class_of_the_next_pod_is_told_to_the_policy() -> None:
    told = []

    def score(arrays, _pod_class, feasible):
        told.append(int(arrays.state.next_class))
        return np.zeros(feasible.shape)

    policy = replace(find_policy("first-fit"), score=score)
    encoded = encode(make_snapshot(make_node("a"), make_pod("one"), make_pod("two").cpu(1)))
    decider = Decider(policy)
    one, two = encoded.snapshot.pending
    decider.decide(encoded, one, encoded.class_of(two))
    decider.decide(encoded, one)
    assert told == [encoded.class_of(two), -1]
    assert int(encoded.arrays.state.next_class) == -1


def test_nodes_that_are_not_allowed_are_not_chosen() -> None:
    encoded = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("one")))
    decider, (pod,) = Decider(find_policy("first-fit")), encoded.snapshot.pending
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
    found = Decider(find_policy("kube-default")).decide(encoded, encoded.snapshot.pending[0])
    assert found.reasons == {"Insufficient cpu": 2, "node(s) had untolerated taint(s)": 1}
    assert found.rejectors == {"NodeResourcesFit", "TaintToleration"}
    assert found.num_resolvable == 0, "the pod is larger than every node"


def test_a_pod_that_is_held_back_is_not_compared_with_nodes() -> None:
    gated = replace(make_pod("gated").build(), scheduling_gates=("wait",))
    encoded = encode(make_snapshot(make_node("a")))
    found = Decider(find_policy("kube-default")).decide(encoded, gated)
    assert found.is_held_back
    assert found.pending_reason == "scheduling is gated by wait"


def test_time_is_taken_from_the_clock() -> None:
    ticks = iter([10.0, 10.25])
    encoded = encode(make_snapshot(make_node("a"), make_pod("one")))
    decider = Decider(find_policy("kube-default"), clock=lambda: next(ticks))
    assert decider.decide(encoded, encoded.snapshot.pending[0]).latency_us == 250_000


def test_a_series_of_decisions_is_that_of_decide_all() -> None:
    policy = find_policy("kube-default")
    start = encode(random_snapshot(11, num_nodes=8, num_pods=30))
    encoded, decider = start, Decider(policy)
    for (want, after), pod in zip(decide_all(start, policy), start.snapshot.pending, strict=True):
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
    decider = Decider(replace(find_policy("first-fit"), score=score))
    for pod in encoded.snapshot.pending:
        decider.decide(encoded, pod)
    assert seen == [(3, 3), (0, 0)]


@pytest.mark.parametrize("name", policies())
def test_every_node_is_told_about_where_that_is_asked_for(name: str) -> None:
    policy, encoded = policies()[name], encode(random_snapshot(5))
    for pod in encoded.snapshot.pending:
        plain, told = Decider(policy).decide(encoded, pod), Decider(policy).decide(encoded, pod, with_nodes=True)
        want, _ = decide_plainly(encoded, pod, policy)
        assert (plain.scores, plain.rejections) == (None, None)
        assert told.rejections == want.rejections
        assert told.scores == pytest.approx(want.scores, rel=1e-4, abs=1e-4)
        assert (told.node, told.runner_up, told.reasons) == (plain.node, plain.runner_up, plain.reasons)


def test_a_node_that_is_not_allowed_is_told_about_as_well() -> None:
    encoded = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("one")))
    decider, (pod,) = Decider(find_policy("first-fit")), encoded.snapshot.pending
    found = decider.decide(encoded, pod, allowed=np.array([False, True]), with_nodes=True)
    assert set(found.scores) == {"b"}
    assert "had room only beside" in found.rejections["a"].reasons[0]


def test_a_decision_names_the_pod_and_the_policy_with_its_version() -> None:
    encoded = encode(make_snapshot(make_node("a"), make_pod("one")))
    (pod,) = encoded.snapshot.pending
    policy = replace(find_policy("first-fit"), version="ab12")
    found = Decider(policy).decide(encoded, replace(pod, uid="u-1"))
    assert (found.pod, found.pod_uid, found.policy, found.policy_version) == ("default/one", "u-1", "first-fit", "ab12")


CANDIDATES = {
    "the best first, of equals the first": ([3, 7, 7, 1, 5, 5, 5], range(7), [1, 2, 4, 5, 6]),
    "only feasible ones": ([3, 7, 7, 1], (0, 3), [0, 3]),
    "no number is the worst": ([1.0, np.nan, 2.0, np.nan], range(4), [2, 0, 1, 3]),
    "worse than any number": ([-np.inf, 1.0, -np.inf], range(3), [1, 0, 2]),
    "infinite is the best": ([1.0, np.inf], range(2), [1, 0]),
    "none": ([1.0, 2.0], (), []),
}


@pytest.mark.parametrize(("scores", "feasible", "want"), CANDIDATES.values(), ids=CANDIDATES)
def test_candidates_are_the_best_feasible_nodes(scores, feasible, want) -> None:
    mask = np.isin(np.arange(len(scores)), list(feasible))
    assert decider._best(np.array(scores), mask) == want
