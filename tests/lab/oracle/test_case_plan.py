"""The plan: every kind and topic comes up, with the sizes that its kind allows."""

from collections import Counter
from random import Random

from longshore_lab.oracle.case_plan import REQUIRED_SHARES, TOPICS, make_plan

PLANS = [make_plan(Random(f"plan:{index}").random) for index in range(2000)]


def test_make_plan_draws_every_kind_and_topic():
    assert set(Counter(plan.kind for plan in PLANS)) == set(REQUIRED_SHARES)
    counts = Counter(topic for plan in PLANS for topic in plan.topics)
    assert set(counts) == set(TOPICS)
    assert min(counts.values()) > 20


def test_make_plan_keeps_a_focus_to_one_topic():
    assert all(len(plan.topics) == 1 for plan in PLANS if plan.kind in ("focus", "ties"))
    assert all(not plan.topics for plan in PLANS if plan.kind == "plain")


def test_make_plan_keeps_to_the_sizes():
    assert {plan.node_count for plan in PLANS} == set(range(1, 13))
    assert {plan.pod_count for plan in PLANS} == set(range(26))
