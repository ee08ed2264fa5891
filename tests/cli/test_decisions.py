"""`longshore decisions`: the log as a table, as JSON, and one pod with its reasons."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.store.decisions import DecisionLog
from store.samples import sample


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["decisions", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "d.db")
    with DecisionLog(path) as log:
        for number in range(30):
            log.add(sample(number))
        log.add(
            sample(
                40,
                pod_name="big",
                node=None,
                score=None,
                candidates=(),
                pending_reason="0/1000 nodes are available: 1000 Insufficient cpu.",
                reasons={"Insufficient cpu": 1000},
                attempt=2,
            )
        )
        log.set_outcome(log.add(sample(41)), "bind-error", "the pod is gone")
    return path


def test_text_shows_the_newest_first(store: str, capsys: pytest.CaptureFixture[str]):
    assert run("--store", store, "--last", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert "shop/pod-41" in lines[1]
    assert "2023-11-14 22:13:20.000Z" in lines[1]
    assert lines[1].endswith("bind-error: the pod is gone")
    assert lines[2].endswith("0/1000 nodes are available: 1000 Insufficient cpu.; attempt 2")
    assert lines[3].split()[2:] == ["shop/pod-29", "node-1", "0.75", "node-2", "998/1000", "el-rl", "0.64"]


def test_last_is_20_by_default(store: str, capsys: pytest.CaptureFixture[str]):
    run("--store", store)
    assert len(capsys.readouterr().out.splitlines()) == 21


def test_one_pod_is_explained(store: str, capsys: pytest.CaptureFixture[str]):
    assert run("--store", store, "--pod", "shop/pod-3") == 0
    text = capsys.readouterr().out
    assert "shop/pod-4" not in text
    assert "2 nodes: Insufficient cpu" in text
    assert "reward: watts -12.5" in text
    assert ["node-1", "0.75", "chosen"] in [line.split() for line in text.splitlines()]


def test_json_holds_every_field(store: str, capsys: pytest.CaptureFixture[str]):
    assert run("--store", store, "--pod", "shop/big", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == 1
    (got,) = payload["decisions"]
    assert got["reasons"] == {"Insufficient cpu": 1000}
    assert got["node"] is None


def test_a_log_that_is_not_there_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("--store", str(tmp_path / "none.db")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: there is no decision log at")


def test_the_default_is_the_users_own_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run() == 2
    assert str(tmp_path / "longshore" / "decisions.db") in capsys.readouterr().err


def test_a_pod_without_decisions_is_said_on_stderr(store: str, capsys: pytest.CaptureFixture[str]):
    assert run("--store", store, "--pod", "shop/none") == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "no decisions about `shop/none`\n")
