"""`bench proxy-faults`: its JSON, its table and its exit codes; no cluster is started."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from longshore.cli.main import main
from longshore_lab.proof import proxy_faults
from longshore_lab.proof.proxied import THROUGH
from longshore_lab.proof.proxy_fault_list import FAULTS
from longshore_lab.proof.proxy_faults import ProxyFaultResult

WELL = ProxyFaultResult("", "", 100, 90, 100, 0, [], 40, 20, 1.25, 0, 3)


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[ProxyFaultResult]:
    """Give the list of what every fault will come to, the first at first."""
    results = [WELL]

    @contextlib.contextmanager
    def no_cluster(_num_pods: int) -> Iterator[None]:
        yield None

    async def run(_: Any, through: str, name: str, num_pods: int) -> ProxyFaultResult:
        return replace(results[0], through=through, fault=name, pods=num_pods)

    monkeypatch.setattr(proxy_faults, "proxy_fault_cluster", no_cluster)
    monkeypatch.setattr(proxy_faults, "run_proxy_fault", run)
    return results


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "proxy-faults", "--pods", "100", *arguments])
    return int(ended.value.code or 0)


@pytest.mark.usefixtures("happened")
def test_all_faults_are_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("well") for line in lines) == len(FAULTS)
    assert lines[1].split()[-5:] == ["20", "1.2", "0", "3", "well"]


@pytest.mark.usefixtures("happened")
@pytest.mark.parametrize("through", THROUGH)
def test_every_scheduler_has_the_same_rows(capsys: pytest.CaptureFixture[str], through: str) -> None:
    assert run("--through", through, "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert (payload["through"], payload["max_recovery_seconds"]) == (through, 20.0)
    assert [row["fault"] for row in payload["faults"]] == list(FAULTS)
    assert {row["through"] for row in payload["faults"]} == {through}


@pytest.mark.usefixtures("happened")
def test_a_fault_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "earthquake") == 2
    assert "no fault has `earthquake`" in capsys.readouterr().err


def test_it_fails_when_a_pod_is_misplaced(happened: list[ProxyFaultResult], capsys: pytest.CaptureFixture[str]) -> None:
    happened[0] = replace(WELL, misplaced=["ns/p cannot be on a"])
    assert run("--only", "500") == 1
    said = capsys.readouterr().out
    assert "NOT WELL" in said
    assert "ns/p cannot be on a" in said
