"""Tests of the oracle as a child process: order, errors for single cases, and what is said when it dies."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longshore.core.words.errors import ComponentMissingError, LongshoreError
from longshore.store.location import CACHE_VARIABLE
from longshore_lab.build import program_path
from longshore_lab.oracle import program
from longshore_lab.oracle.program import Oracle
from longshore_lab.oracle.proof import UPSTREAM_VERSION

NODE = b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'
GOOD = b'{"id": 1, "pod": {"metadata": {"name": "p"}}, "items": [%s]}' % NODE


@pytest.fixture
def oracle(require_component: Callable[[str, str, bool], None]) -> Iterator[Oracle]:
    require_component("oracle", "make controlplane", program_path("oracle").is_file())
    with Oracle() as running:
        yield running


@pytest.fixture
def fake_oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Give a function that puts a shell script in the oracle's place."""

    def put(script: str) -> None:
        path = tmp_path / "oracle"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(program, "require_program", lambda _name: path)

    return put


def test_answers_come_in_the_order_of_the_cases(oracle: Oracle, cases: list[dict[str, Any]]) -> None:
    sent = [msgspec.json.encode(case) for case in reversed(cases[:50])]
    assert [answer.id for answer in oracle.ask(sent)] == list(reversed(range(50)))


def test_an_answer_has_every_node_and_scores_of_feasible_ones(oracle: Oracle) -> None:
    (answer,) = oracle.ask([GOOD])
    # A node without allocatable pods takes none.
    assert answer.nodes == {"a": program.Status("NodeResourcesFit", "Unschedulable", ["Too many pods"])}
    assert (answer.scores, answer.totals, answer.error) == ({}, {}, None)


def test_one_process_answers_many_times(oracle: Oracle) -> None:
    assert [answer.id for _ in range(3) for answer in oracle.ask([GOOD])] == [1, 1, 1]


@pytest.mark.parametrize(
    ("bad", "want_id", "want_error"),
    [
        pytest.param(b"not json", None, "case: ", id="not JSON"),
        pytest.param(b'{"id": 9}', 9, 'got no "pod"', id="no pod"),
        pytest.param(b'{"id": 9, "pod": 7, "items": []}', 9, "pod: ", id="a pod that is a number"),
        pytest.param(b'{"id": 9, "pod": {}, "items": [{"kind": "X"}]}', 9, "items[0]: ", id="an unknown kind"),
        pytest.param(b'{"id": 9, "pod": {"spec": {"misspelt": 1}}, "items": []}', 9, "misspelt", id="an unknown field"),
    ],
)
def test_a_bad_case_is_answered_with_an_error_and_the_next_as_usual(
    oracle: Oracle, bad: bytes, want_id: int | None, want_error: str
) -> None:
    first, second, third = oracle.ask([GOOD, bad, GOOD])
    assert (first.error, third.error) == (None, None)
    assert first == third
    assert second.id == want_id
    assert second.error is not None
    assert want_error in second.error
    assert (second.nodes, second.scores, second.totals) == ({}, {}, {})


def test_the_program_is_linked_with_the_version_that_is_claimed(
    require_component: Callable[[str, str, bool], None],
) -> None:
    require_component("oracle", "make controlplane", program_path("oracle").is_file())
    said = subprocess.run([str(program_path("oracle")), "-version"], check=True, capture_output=True)
    assert json.loads(said.stdout) == {"upstream": UPSTREAM_VERSION}


def test_the_programs_death_is_told_with_its_last_words(fake_oracle: Callable[[str], None]) -> None:
    fake_oracle("echo 'oracle: out of memory' >&2; exit 1")
    with (
        Oracle() as oracle,
        pytest.raises(LongshoreError, match="ended before it answered every case: oracle: out of mem"),
    ):
        list(oracle.ask([GOOD]))


def test_a_death_after_some_answers_is_told_too(fake_oracle: Callable[[str], None]) -> None:
    fake_oracle("""read line; echo '{"id": 1, "nodes": {}, "scores": {}, "totals": {}}'; exit 0""")
    with Oracle() as oracle:
        answers = oracle.ask([GOOD, GOOD])
        assert next(answers).id == 1
        with pytest.raises(LongshoreError, match="ended before it answered every case: no message"):
            next(answers)


def test_a_death_while_much_is_still_to_be_sent_is_told(fake_oracle: Callable[[str], None]) -> None:
    fake_oracle("exit 3")
    with Oracle() as oracle, pytest.raises(LongshoreError, match="ended before it answered every case"):
        list(oracle.ask([GOOD] * 20_000))


def test_closing_ends_the_process(fake_oracle: Callable[[str], None]) -> None:
    fake_oracle("while read line; do :; done")
    oracle = Oracle()
    assert oracle._process.poll() is None
    oracle.close()
    assert oracle._process.poll() is not None


def test_a_program_that_is_not_built_is_missing_by_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(ComponentMissingError) as caught:
        Oracle()
    assert caught.value.provided_by == "make controlplane"
