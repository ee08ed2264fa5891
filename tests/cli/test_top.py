"""`longshore top`: what it refuses before it draws, and that it passes on what it was given."""

from pathlib import Path
from typing import Any

import pytest

from longshore.cli import top
from longshore.cli.main import main
from longshore.core.words.errors import LongshoreError
from longshore.dashboard.top import app

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["top", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return str(path)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "_has_terminal", lambda: True)


def test_top_needs_a_terminal(kubeconfig: str, capsys: pytest.CaptureFixture[str]):
    assert run("--kubeconfig", kubeconfig) == 2
    assert capsys.readouterr().err.startswith("error: `longshore top` needs a terminal to draw on")


@pytest.mark.usefixtures("terminal")
def test_top_refuses_a_wrong_metrics_address(kubeconfig: str, capsys: pytest.CaptureFixture[str]):
    assert run("--kubeconfig", kubeconfig, "--metrics", "localhost:80") == 2
    assert "got the metrics address `localhost:80`, expected a URL" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_top_refuses_a_kubeconfig_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run("--kubeconfig", str(tmp_path / "none")) == 2
    assert "none" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_top_ends_with_the_error_that_ended_the_view(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    seen: list[Any] = []

    def fail(self: app.TopApp) -> LongshoreError:
        seen.append(self._feed)
        return LongshoreError("pods is forbidden", "ask for the right")

    monkeypatch.setattr(app.TopApp, "run", fail)
    assert run("--kubeconfig", kubeconfig, "--store", "d.db") == 1
    assert capsys.readouterr().err == "error: pods is forbidden\nhint: ask for the right\n"
    assert seen[0].status.server == "http://127.0.0.1:9"
    assert seen[0]._sources.store == "d.db"
