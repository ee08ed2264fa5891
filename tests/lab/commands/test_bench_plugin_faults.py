"""`bench plugin-faults`: its JSON, its table and its exit codes; no cluster is started."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from longshore.cli.main import main
from longshore_lab import build
from longshore_lab.proof import plugin_faults
from longshore_lab.proof.plugin_fault_list import FAULTS
from longshore_lab.proof.plugin_faults import PluginFaultResult

WELL = PluginFaultResult(
    "x", 10, 4, 10, 0, [], True, {"deadline": 5, "circuit-open": 2}, 0.104, 6.5, 1.25, "too slow", []
)


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[PluginFaultResult]:
    """Give the list of what every fault will come to, the first at first."""
    results = [WELL]

    @contextlib.contextmanager
    def no_cluster() -> Iterator[None]:
        yield None

    async def run(_: Any, name: str, *_more: Any) -> PluginFaultResult:
        return replace(results[0], fault=name)

    monkeypatch.setattr(build, "require_program", lambda _: None)
    monkeypatch.setattr(plugin_faults, "plugin_fault_cluster", no_cluster)
    monkeypatch.setattr(plugin_faults, "run_plugin_fault", run)
    return results


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "plugin-faults", *arguments])
    return int(ended.value.code or 0)


@pytest.mark.usefixtures("happened")
def test_all_faults_are_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("well") for line in lines) == len(FAULTS)
    assert "2 circuit-open, 5 deadline" in lines[1]
    assert lines[1].split()[-5:] == ["5", "0.104", "6.5", "1.2", "well"]


@pytest.mark.usefixtures("happened")
def test_json_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "takes 25 ms", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    (fault,) = payload["faults"]
    assert payload["max_failed_seconds"] == pytest.approx(1.1)
    assert (fault["failures"], fault["fallbacks"]["circuit-open"], fault["is_well"]) == (5, 2, True)


@pytest.mark.usefixtures("happened")
def test_a_fault_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "earthquake") == 2
    assert "no fault has `earthquake`" in capsys.readouterr().err


def test_it_fails_when_the_plugin_does_not_say_why(
    happened: list[PluginFaultResult], capsys: pytest.CaptureFixture[str]
) -> None:
    happened[0] = replace(WELL, missing=["no event LongshoreFallback"], is_same_process=False)
    assert run("--only", "takes 25 ms") == 1
    said = capsys.readouterr().out
    assert "NOT WELL" in said
    assert "no event LongshoreFallback" in said
    assert "the process has ended" in said
