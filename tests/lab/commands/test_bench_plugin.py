"""`bench same-nodes`, `preemption` and `changing-nodes`: their JSON, text and exit codes; no cluster is started."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from longshore.cli.main import main
from longshore_lab import cluster
from longshore_lab.proof import changing_nodes, live_oracle, plugin_preemption, same_nodes
from longshore_lab.proof.changing_nodes import ChangingResult
from longshore_lab.proof.plugin_preemption import PreemptionResult
from longshore_lab.proof.same_nodes import BundleResult, NodeDifference


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    return int(ended.value.code or 0)


@contextlib.contextmanager
def no_cluster(*_given: Any, **_options: Any) -> Iterator[None]:
    yield None


@pytest.fixture(autouse=True)
def without_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_oracle, "cluster_without_controllers", no_cluster)
    monkeypatch.setattr(cluster, "temporary", no_cluster)


@pytest.fixture
def bundles(monkeypatch: pytest.MonkeyPatch) -> list[BundleResult]:
    """Give what the bundles will come to."""
    results = [BundleResult("mine", rounds=2, pods=20, placed=15, pending=5)]

    async def prove(*_: Any) -> list[BundleResult]:
        return results

    monkeypatch.setattr(same_nodes, "prove_same_nodes", prove)
    return results


@pytest.fixture
def preempted(monkeypatch: pytest.MonkeyPatch) -> PreemptionResult:
    result = PreemptionResult(10, 3, 4, 3, [], 5.0)

    async def prove(*_: Any) -> PreemptionResult:
        return result

    monkeypatch.setattr(plugin_preemption, "prove_preemption", prove)
    return result


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> ChangingResult:
    result = ChangingResult(1002, 20, bound=20, changes=Counter(joined=3), ranked=19, seconds=5.0)

    async def prove(*_: Any, **_options: Any) -> ChangingResult:
        return result

    monkeypatch.setattr(changing_nodes, "prove_changing_nodes", prove)
    return result


@pytest.mark.usefixtures("bundles")
def test_same_nodes_reports_every_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("same-nodes", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["bundles"]
    assert (found["bundle"], found["pods"], found["differences"]) == ("mine", 20, [])


def test_same_nodes_ends_with_1_on_a_difference(
    bundles: list[BundleResult], capsys: pytest.CaptureFixture[str]
) -> None:
    bundles[0].differences.append(NodeDifference(3, "same-1", "plugin a, standalone b"))
    assert run("same-nodes") == 1
    assert "mine, cluster 3, same-1: plugin a, standalone b" in capsys.readouterr().out


def test_preemption_says_it_in_a_sentence(preempted: PreemptionResult, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("preemption", "--policy", "x") == 0
    assert "10 cases in 5 s: 3 had room, 4 preempted, 3 stayed pending; 0 violations" in capsys.readouterr().out
    preempted.violations.append("the wrong one")
    assert run("preemption", "--policy", "x") == 1
    assert "the wrong one" in capsys.readouterr().out


def test_changing_nodes_says_it_in_a_sentence(changed: ChangingResult, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("changing-nodes", "--policy", "x") == 0
    assert "20 of 20 pods bound on 1002 nodes in 5 s, 3 joined: 0 wrong" in capsys.readouterr().out
    changed.wrong.append("p is nowhere")
    assert run("changing-nodes", "--policy", "x") == 1
    assert "p is nowhere" in capsys.readouterr().out


@pytest.mark.usefixtures("changed")
def test_changing_nodes_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("changing-nodes", "--policy", "x", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert (payload["is_well"], payload["ranked"], payload["changes"]) == (True, 19, {"joined": 3})
