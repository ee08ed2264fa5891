"""`longshore notebook`: the tour is written, kept, and runs from top to bottom."""

import importlib.util
import sys
from pathlib import Path

import jupytext
import nbclient
import nbformat
import pytest

from longshore.cli import notebook
from longshore.cli.main import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["notebook", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """Give the tour with the outputs of its cells."""
    found = nbformat.read(notebook.write_tour(tmp_path_factory.mktemp("tour")), as_version=4)
    return nbclient.NotebookClient(found, timeout=300, kernel_name="python3").execute()


def outputs(found: nbformat.NotebookNode) -> str:
    cells = (output for cell in found.cells if cell.cell_type == "code" for output in cell.outputs)
    return "".join(output.text for output in cells if output.output_type == "stream" and output.name == "stdout")


@pytest.mark.slow
def test_tour_trains_a_policy_that_is_better_than_the_default(played: nbformat.NotebookNode):
    lines = dict(line.split(":", 1) for line in outputs(played).splitlines())
    trained = float(lines["return on the selection traces"])
    assert trained > float(lines["  kube-default"])


@pytest.mark.slow
def test_tour_shows_its_plots(played: nbformat.NotebookNode):
    shown = [output.data for cell in played.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("image/png" in data for data in shown) == 2


@pytest.mark.slow
def test_tour_compares_with_the_optimum(played: nbformat.NotebookNode):
    rows = {name.strip(): float(text.split()[0]) for name, text in _compared(outputs(played))}
    assert rows["kube-default"] < rows["tour-policy"] <= rows["optimum"] + 1e-6


def _compared(text: str) -> list[list[str]]:
    names = ("kube-default", "energy-latency", "tour-policy", "optimum")
    # The last lines of the notebook; names also occur further up, among the baselines.
    return [line.split(":", 1) for line in text.splitlines()[-len(names) :] if line.split(":")[0].strip() in names]


def test_notebook_writes_a_pair(tmp_path: Path):
    assert run("--no-open", "--folder", str(tmp_path / "mine")) == 0
    found = jupytext.read(tmp_path / "mine" / "tour.ipynb")
    assert found.metadata["jupytext"]["formats"] == "ipynb,py:percent"
    plain = jupytext.read(tmp_path / "mine" / "tour.py")
    assert [cell.source for cell in plain.cells] == [cell.source for cell in found.cells]


def test_notebook_keeps_what_is_there(tmp_path: Path):
    (tmp_path / "tour.ipynb").write_text("mine")
    assert run("--no-open", "--folder", str(tmp_path)) == 0
    assert (tmp_path / "tour.ipynb").read_text() == "mine"


def test_notebook_without_jupyterlab_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jupyterlab" else object())
    assert run("--folder", str(tmp_path / "mine")) == 1
    assert "pip install 'longshore[notebook]'" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_notebook_starts_jupyterlab_on_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[list[str]] = []

    def start(command: list[str], *, check: bool) -> object:
        started.append(command)
        return type("Done", (), {"returncode": 3})()

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(notebook.subprocess, "run", start)
    assert run("--folder", str(tmp_path), "--no-browser", "--port", "9999", "--allow-root") == 3
    written = str(tmp_path / "tour.ipynb")
    assert started == [[sys.executable, "-m", "jupyterlab", "--port=9999", "--allow-root", "--no-browser", written]]
