"""`bench live-oracle` and `bench faults`: their JSON, their text and their exit codes; no cluster is started."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from longshore.cli.main import main
from longshore_lab.proof import faults, live_oracle
from longshore_lab.proof.faults import FAULTS, FaultResult
from longshore_lab.proof.live_oracle import LiveDifference, LiveResult

WELL = FaultResult("x", 10, 4, 10, 0, [], 5.0, 6.25)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    return int(ended.value.code or 0)


@contextlib.contextmanager
def no_cluster() -> Iterator[None]:
    yield None


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> LiveResult:
    """Give the result that the live oracle will have."""
    result = LiveResult(10, 7, 2, 3, 0, Counter({"no case": 4}), [], 5.0)

    async def prove(*_: Any, **_options: Any) -> LiveResult:
        return result

    monkeypatch.setattr(live_oracle, "cluster_without_controllers", no_cluster)
    monkeypatch.setattr(live_oracle, "prove_live", prove)
    return result


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[FaultResult]:
    """Give the list of what every fault will come to, the first at first."""
    results = [WELL]

    async def run_fault(_: Any, name: str, *_more: Any, **_options: Any) -> FaultResult:
        return replace(results[0], fault=name)

    monkeypatch.setattr(faults, "fault_cluster", no_cluster)
    monkeypatch.setattr(faults, "run_fault", run_fault)
    return results


@pytest.mark.usefixtures("proved")
def test_live_oracle_reports_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("live-oracle", "--cases", "10", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    expected = {"schema": 1, "cases": 10, "feasible": 7, "ties": 2, "pending": 3, "differences": 0, "seconds": 5.0}
    assert {key: payload[key] for key in expected} == expected
    assert payload["left_out"] == {"no case": 4}


def test_live_oracle_through_the_plugin_ends_with_1_where_it_fell_back(
    proved: LiveResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("live-oracle", "--through", "plugin", "--json") == 0
    assert json.loads(capsys.readouterr().out)["through"] == "plugin"
    proved.num_fallbacks = 2
    assert run("live-oracle", "--through", "plugin") == 1
    assert "ranked by upstream's scores instead of the bundle: 2" in capsys.readouterr().out


@pytest.mark.usefixtures("proved")
def test_live_oracle_says_it_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("live-oracle") == 0
    said = capsys.readouterr().out
    assert "10 cases in 5 s: 7 placed (2 with several best nodes), 3 without a node; 0 differences" in said
    assert "left out: 4 more: no case" in said


def test_live_oracle_fails_on_a_difference(proved: LiveResult, capsys: pytest.CaptureFixture[str]) -> None:
    proved.differences.append(LiveDifference(3, "stock chose b", "case 3"))
    assert run("live-oracle") == 1
    assert "stock chose b\ncase 3" in capsys.readouterr().out


@pytest.mark.usefixtures("happened")
def test_faults_are_all_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("faults") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(FAULTS)
    assert lines[1].split()[-10:] == ["4", "of", "10", "10", "0", "0", "0", "5.0", "6.2", "well"]


@pytest.mark.usefixtures("happened")
def test_faults_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("faults", "--only", "etcd", "--json") == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert fault["fault"].startswith("etcd paused")
    assert fault["is_well"]


@pytest.mark.usefixtures("happened")
def test_a_fault_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("faults", "--only", "earthquake") == 2
    assert "no fault has `earthquake`" in capsys.readouterr().err


def test_faults_fail_when_a_pod_is_misplaced(happened: list[FaultResult], capsys: pytest.CaptureFixture[str]) -> None:
    happened[0] = replace(WELL, misplaced=["ns/p cannot be on a"])
    assert run("faults", "--only", "etcd") == 1
    said = capsys.readouterr().out
    assert "NOT WELL" in said
    assert "ns/p cannot be on a" in said
