"""Tests of `longshore config validate`: what is printed, and the exit code."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main

CONFIG = Path(__file__).parents[2] / "scheduler" / "config"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["config", "validate", *arguments])
    return int(ended.value.code or 0)


def test_a_good_file_is_called_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(CONFIG / "profile-plugin.yaml")) == 0
    assert "nothing wrong was found" in capsys.readouterr().out


def test_a_bad_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CONFIG / "profile-replace.yaml").read_text(encoding="utf-8").replace("modelPath", "modelpath")
    (tmp_path / "bad.yaml").write_text(text)
    assert run(str(tmp_path / "bad.yaml")) == 1
    output = capsys.readouterr().out
    assert "error: profiles[0].pluginConfig[0].args.modelpath: no such field" in output
    assert "hint: did you mean `modelPath`?" in output


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    text = (CONFIG / "profile-replace.yaml").read_text(encoding="utf-8").replace("ToScore: 100", "ToScore: 50")
    (tmp_path / "half.yaml").write_text(text)
    assert run(str(tmp_path / "half.yaml")) == 0


def test_json_has_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.yaml").write_text("")
    assert run(str(tmp_path / "empty.yaml"), "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["valid"] is False
    assert answer["findings"][0]["level"] == "error"


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path / "none.yaml")) == 2
    assert "cannot read" in capsys.readouterr().err
