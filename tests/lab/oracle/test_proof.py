"""Tests of the proof: 2,000 random cases without a difference, and that a broken answer would not go unseen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longshore.core.words.errors import ComponentMissingError
from longshore.filters.base import Rejection
from longshore.store.location import CACHE_VARIABLE
from longshore_lab.build import program_path
from longshore_lab.oracle import proof
from longshore_lab.oracle.compare import OwnAnswer, answer
from longshore_lab.oracle.program import Oracle
from longshore_lab.oracle.proof import Difference, compare_range, prove

SEED = 20260
CASES = 2000


@pytest.fixture(scope="module")
def oracle(require_component: Callable[[str, str, bool], None]) -> Iterator[Oracle]:
    require_component("oracle", "make controlplane", program_path("oracle").is_file())
    with Oracle() as running:
        yield running


@pytest.mark.parametrize("start", range(0, CASES, 500))
def test_upstream_sees_every_case_as_we_do(oracle: Oracle, start: int) -> None:
    chunk = compare_range(oracle, SEED, start, 500)
    assert chunk.first is None, f"{chunk.first.what}\n{chunk.first.case}"
    assert (chunk.cases, chunk.differences) == (500, 0)


def refuse_first(own: OwnAnswer) -> OwnAnswer:
    first = own.feasible[0]
    rejection = Rejection("NodeName", ("no",), is_resolvable=False)
    return own._replace(feasible=own.feasible[1:], rejections=own.rejections | {first: rejection})


def allow_first(own: OwnAnswer) -> OwnAnswer:
    first, *others = own.rejections
    return own._replace(feasible=(*own.feasible, first), rejections={node: own.rejections[node] for node in others})


def other_reason(own: OwnAnswer) -> OwnAnswer:
    return own._replace(rejections={node: replace(found, reasons=("no",)) for node, found in own.rejections.items()})


def other_code(own: OwnAnswer) -> OwnAnswer:
    turned = {node: replace(found, is_resolvable=not found.is_resolvable) for node, found in own.rejections.items()}
    return own._replace(rejections=turned)


def one_more(own: OwnAnswer, kind: str) -> OwnAnswer:
    scores: dict[str, dict[str, int]] = getattr(own, kind)
    changed = {node: score + 1 for node, score in scores["NodeResourcesFit"].items()}
    return own._replace(**{kind: scores | {"NodeResourcesFit": changed}})


BREAKS: dict[str, tuple[Callable[[OwnAnswer], OwnAnswer], str, str]] = {
    "a feasible node is refused": (refuse_first, "feasible", "node `"),
    "a refused node is feasible": (allow_first, "rejections", "node `"),
    "another reason": (other_reason, "rejections", "node `"),
    "another code": (other_code, "rejections", "node `"),
    "a raw score": (lambda own: one_more(own, "raw"), "feasible", "NodeResourcesFit raw"),
    "a normalised score": (lambda own: one_more(own, "normalized"), "feasible", "NodeResourcesFit normalised"),
    "a total": (
        lambda own: own._replace(totals={node: total + 1 for node, total in own.totals.items()}),
        "feasible",
        "totals: ours",
    ),
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_answer_is_reported_in_every_case(oracle: Oracle, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    break_answer, needed, want = BREAKS[what]
    breakable: list[int] = []

    def broken(data: bytes) -> OwnAnswer:
        own = answer(data)
        breakable.append(bool(getattr(own, needed)))
        return break_answer(own) if breakable[-1] else own

    monkeypatch.setattr(proof, "answer", broken)
    chunk = compare_range(oracle, SEED, 100, 40)
    assert chunk.differences == sum(breakable) > 0
    assert chunk.first is not None
    assert chunk.first.index == 100 + breakable.index(True)
    assert chunk.first.what.startswith(want)
    assert chunk.first.case.startswith(f"case {chunk.first.index}: ")


def test_workers_share_the_cases_and_progress_is_told(oracle: Oracle) -> None:
    heard: list[tuple[int, int]] = []
    result = prove(600, SEED + 1, 2, lambda done, differences: heard.append((done, differences)))
    assert (result.cases, result.differences, result.first_difference) == (600, 0, None)
    assert heard == [(250, 0), (500, 0), (600, 0)]
    assert result.seconds > 0


def test_the_first_difference_is_the_one_with_the_lowest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    late, early = Difference(600, "b", "case 600"), Difference(300, "a", "case 300")
    chunks = [proof._Chunk(250, 0, None), proof._Chunk(250, 3, late), proof._Chunk(250, 1, early)]
    tasks_seen: list[Any] = []

    def run(tasks: Iterator[tuple[int, int, int]], workers: int) -> Iterator[proof._Chunk]:
        tasks_seen.extend(tasks)
        return iter(chunks)

    monkeypatch.setattr(proof, "_run", run)
    result = prove(600, 7, 1, lambda done, differences: None)
    assert tasks_seen == [(7, 0, 250), (7, 250, 250), (7, 500, 100)]
    assert (result.cases, result.differences, result.first_difference) == (750, 4, early)


def test_no_cases_are_no_proof_and_no_error() -> None:
    assert prove(0, 1, 1, lambda done, differences: None)[:3] == (0, 0, None)


def test_a_missing_oracle_is_told_across_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(ComponentMissingError) as caught:
        prove(10, 1, 1, lambda done, differences: None)
    assert caught.value.provided_by == "make controlplane"
