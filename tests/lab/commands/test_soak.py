"""`soak`: its verdict, its JSON and its exit codes; no cluster is started."""

import json

import pytest

from longshore.cli.main import main
from longshore_lab.soak import run as soak_run
from longshore_lab.soak.run import Soak, SoakOptions
from longshore_lab.soak.verdict import Row

MET, MISSED = Row("memory", 0.01, 0.02, True, "1 → 2"), Row("files", 0.5, 0.02, False)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["soak", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> tuple[list[SoakOptions], list[Row]]:
    asked: list[SoakOptions] = []
    rows = [MET]

    def soak(options: SoakOptions, _: object) -> Soak:
        asked.append(options)
        return Soak(options, faults=["etcd paused"], num_bound=1234, rows=rows)

    monkeypatch.setattr(soak_run, "soak", soak)
    return asked, rows


def test_the_verdict_comes_first(
    given: tuple[list[SoakOptions], list[Row]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--minutes", "2", "--through", "plugin", "--nodes", "50", "--pods", "900") == 0
    assert capsys.readouterr().out.splitlines()[0] == "well: 1234 pods bound, 1 faults"
    assert given[0] == [SoakOptions("plugin", 2.0, 50, 900)]


def test_a_missed_bar_is_an_exit_code(
    given: tuple[list[SoakOptions], list[Row]], capsys: pytest.CaptureFixture[str]
) -> None:
    given[1].append(MISSED)
    assert run("--json") == 1
    payload = json.loads(capsys.readouterr().out)
    assert [row["is_met"] for row in payload["rows"]] == [True, False]


def test_more_pods_than_fit_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--nodes", "10", "--pods", "300") == 2
    assert "expected at most 200" in capsys.readouterr().err
