"""Records: a full decision is shortened without losing what explains it."""

import re
from pathlib import Path

import msgspec

from longshore.core.words.decision import Decision, Rejection
from longshore.store.records import MODES, TOP_CANDIDATES, DecisionRecord, from_decision

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "decision-log.md"


def full_decision(node: str | None = "n3") -> Decision:
    return Decision(
        pod="shop/api-1",
        policy="best-fit",
        node=node,
        scores={f"n{i}": float(i % 7) for i in range(20)},
        rejections={
            f"r{i}": Rejection("NodeResourcesFit", ("Insufficient cpu",) + (("Insufficient memory",) * (i > 2)), True)
            for i in range(5)
        },
        runner_up="n6",
        seconds=0.000_25,
    )


def record(decision: Decision):
    return from_decision(decision, mode="simulator", time_us=7, num_nodes=25, uid="u-1")


def test_from_decision_keeps_the_best_candidates_best_first():
    got = record(full_decision()).candidates
    assert len(got) == TOP_CANDIDATES
    assert got[0] == ("n13", 6.0)  # equal scores by name, as choosing does
    assert [score for _, score in got] == [6.0, 6.0, 5.0, 5.0, 5.0]


def test_from_decision_counts_the_reasons():
    assert record(full_decision()).reasons == {"Insufficient cpu": 5, "Insufficient memory": 2}


def test_from_decision_names_pod_score_and_latency():
    got = record(full_decision())
    assert (got.pod, got.pod_name, got.score, got.num_feasible, got.latency_us) == ("shop/api-1", "api-1", 3.0, 20, 250)


def test_from_decision_of_a_pod_that_waits_has_no_score():
    got = record(full_decision(node=None))
    assert (got.node, got.score) == (None, None)


def test_the_reference_page_lists_every_column_and_mode():
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert sorted(listed) == sorted(field.name for field in msgspec.structs.fields(DecisionRecord))
    assert all(f"`{mode}`" in text for mode in MODES)
