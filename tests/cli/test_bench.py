"""`longshore bench`: the shape of its JSON and its exit codes; the figures themselves are not for a test."""

import json

import pytest

from longshore.cli.main import main
from longshore.lab.build import oracle_path
from longshore.lab.oracle import proof


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def needs_oracle(require_component):
    require_component("oracle", "make controlplane", oracle_path().is_file())


@pytest.mark.usefixtures("needs_oracle")
def test_bench_oracle_reports_cases_and_differences(capsys: pytest.CaptureFixture[str]):
    assert run("oracle", "--cases", "20", "--seed", "7", "--workers", "1", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert {key: payload[key] for key in ("schema", "upstream", "cases", "differences", "first_difference")} == {
        "schema": 1,
        "upstream": "v1.36.3",
        "cases": 20,
        "differences": 0,
        "first_difference": None,
    }
    assert payload["cases_per_second"] > 0


def test_bench_oracle_fails_on_a_difference(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    found = proof.Difference(3, "node `a`: ours otherwise", "case 3")
    monkeypatch.setattr(proof, "prove", lambda *_: proof.Result(10, 1, found, 1.0))
    assert run("oracle", "--cases", "10", "--json") == 1
    assert json.loads(capsys.readouterr().out)["first_difference"]["index"] == 3


@pytest.mark.usefixtures("needs_oracle")
def test_bench_semantics_puts_both_times_beside_each_other(capsys: pytest.CaptureFixture[str]):
    assert run("semantics", "--nodes", "10", "--repeats", "3", "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["pod"] for cell in cells} == {"plain", "node-affinity", "spread", "inter-pod", "everything"}
    assert all(cell["nodes"] == 10 and cell["ours_ms"] > 0 and cell["upstream_ms"] > 0 for cell in cells)
