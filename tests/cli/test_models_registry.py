"""`longshore models push|pull|promote|demote|delete|serve` and `list --store`."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.policies.bundle_folder import read_files, write_folder
from support.bundle_samples import deepsets_tensors, make_bundle, make_hybrid


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["models", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def bundles(tmp_path: Path) -> list[str]:
    for seed in range(2):
        write_folder(tmp_path / f"run-{seed}", make_bundle(name="el-rl", tensors=deepsets_tensors(4, seed)))
    return [str(tmp_path / f"run-{seed}") for seed in range(2)]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def test_push_promote_list_and_pull(
    bundles: list[str], store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("push", bundles[0], "--alias", "live", "--store", store) == 0
    assert capsys.readouterr().out.startswith("el-rl version 1 (live), sha256 ")
    assert run("push", bundles[1], "--store", store, "--json") == 0
    pushed = json.loads(capsys.readouterr().out)
    assert (pushed["version"], pushed["aliases"]) == (2, [])
    assert run("promote", "el-rl", "2", "--store", store) == 0
    assert capsys.readouterr().out == "el-rl live: 2 (was 1)\n"
    assert run("list", "--store", store) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[:3] for row in rows[1:]] == [["el-rl", "2", "live"], ["el-rl", "1", "el-rl"]]
    assert run("pull", "el-rl", "live", str(tmp_path / "out"), "--store", store) == 0
    assert read_files(tmp_path / "out") == read_files(Path(bundles[1]))


def test_a_promotion_can_be_taken_back(bundles: list[str], store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for bundle in bundles:
        assert run("push", bundle, "--alias", "live", "--store", store) == 0
    capsys.readouterr()
    assert run("promote", "el-rl", "1", "--alias", "live", "--store", store, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["version"], answer["alias"], answer["before"]) == (1, "live", 2)


def test_the_default_store_is_in_the_state_folder(
    bundles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run("push", bundles[0]) == 0
    assert capsys.readouterr().out.strip().endswith(f": {tmp_path / 'state' / 'longshore' / 'decisions.db'}")
    assert run("list", "--store", "default", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["models"]] == ["el-rl"]


def test_push_tries_the_policy_as_verify_does(tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(tmp_path / "hybrid", make_hybrid("not-installed"))
    assert run("push", str(tmp_path / "hybrid"), "--store", store) == 2
    assert "unknown policy `not-installed`" in capsys.readouterr().err


def test_push_wants_a_name_that_can_be_part_of_an_address(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(tmp_path / "run", make_bundle(name="My Bundle"))
    assert run("push", str(tmp_path / "run"), "--store", store) == 2
    said = capsys.readouterr().err
    assert "got the name `My Bundle`" in said
    assert "--name" in said
    assert run("push", str(tmp_path / "run"), "--name", "mine", "--store", store) == 0


def test_pull_leaves_a_folder_with_something_else_alone(
    bundles: list[str], store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("push", bundles[0], "--store", store)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    assert run("pull", "el-rl", "1", str(tmp_path / "out"), "--store", store) == 2
    assert "holds more than a bundle" in capsys.readouterr().err
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"


def test_pull_with_a_manifest_can_be_pulled_over(bundles: list[str], store: str, tmp_path: Path) -> None:
    run("push", bundles[0], "--store", store)
    out = tmp_path / "out"
    assert run("pull", "el-rl", "1", str(out), "--with-manifest", "--store", store) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["files"]["policy.json"]["size"] == (out / "policy.json").stat().st_size
    assert run("pull", "el-rl", "1", str(out), "--store", store) == 0
    assert not (out / "manifest.json").exists()


def test_delete_says_what_is_gone_and_refuses_what_has_an_alias(
    bundles: list[str], store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for bundle in bundles:
        run("push", bundle, "--alias", "live", "--store", store)
    capsys.readouterr()
    assert run("delete", "el-rl", "2", "--store", store) == 2
    said = capsys.readouterr().err
    assert "version 2 of `el-rl` has the alias `live`: schedulers that take the model by that name" in said
    assert "first `longshore models promote el-rl OTHER --alias live`, or `longshore models demote el-rl live`" in said
    assert run("delete", "el-rl", "1", "--store", store) == 0
    assert capsys.readouterr().out.startswith("deleted: el-rl version 1, sha256 ")
    run("push", bundles[0], "--store", store)
    capsys.readouterr()
    assert run("delete", "el-rl", "3", "--store", store, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["version"], answer["is_deleted"]) == (3, True)


def test_demote_says_what_schedulers_do_then(
    bundles: list[str], store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("push", bundles[0], "--alias", "live", "--store", store)
    capsys.readouterr()
    assert run("demote", "el-rl", "live", "--store", store) == 0
    said = capsys.readouterr()
    assert said.out == "el-rl live: none (was 1)\n"
    assert "schedulers that follow `live` keep the bundle that they have; new ones get none" in said.err
    run("promote", "el-rl", "1", "--store", store)
    capsys.readouterr()
    assert run("demote", "el-rl", "live", "--store", store, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["version"], answer["aliases"], answer["alias"], answer["before"]) == (1, [], "live", 1)


def test_the_store_may_come_from_the_environment(
    bundles: list[str], store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGSHORE_STORE", store)
    assert run("push", bundles[0]) == 0
    capsys.readouterr()
    assert run("list", "--store", store, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["models"]) == 1


@pytest.mark.parametrize("command", ["promote", "demote", "delete"])
def test_a_mistyped_store_is_not_made(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "el-rl", "1", "--store", str(tmp_path / "typo.db")) == 2
    assert "there is no store at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pull", "el-lr", "live", "out"], "unknown model `el-lr`"),
        (["promote", "el-rl", "9"], "has no version or alias `9`, expected one of: 1"),
        (["promote", "el-rl", "1", "--alias", "2"], "got the alias `2`"),
        (["promote", "\udcff", "1"], "unknown model"),
        (["delete", "el-rl", "9"], "has no version or alias `9`, expected one of: 1"),
        (["demote", "el-rl", "live"], "has no version or alias `live`, expected one of: 1"),
        (["demote", "el-rl", "1"], "got `1`, which is a version of `el-rl`, expected an alias"),
        (["delete", "el-lr", "1"], "unknown model `el-lr`"),
        (["serve", "--tls-key", "key"], "got one of `--tls-certificate` and `--tls-key`"),
        (["serve", "--token-file", "none"], "cannot read the token `none`"),
        (["list", "somewhere"], "expected one of them"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_said(
    arguments: list[str], message: str, bundles: list[str], store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("push", bundles[0], "--store", store)
    capsys.readouterr()
    assert run(*arguments, "--store", store) == 2
    assert message in capsys.readouterr().err


def test_a_store_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("serve", "--store", str(tmp_path / "none.db")) == 2
    assert "there is no store at" in capsys.readouterr().err


def test_serve_answers_until_it_is_told_to_end(bundles: list[str], store: str) -> None:
    run("push", bundles[0], "--alias", "live", "--store", store)
    start = "from longshore.cli.main import main; main()"
    command = [sys.executable, "-c", start, "models", "serve", "--store", store, "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as it:
        assert it.stderr is not None
        assert "plain HTTP to other machines" in it.stderr.readline()
        address = it.stderr.readline().split()[2].replace("NAME", "el-rl")
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert json.loads(answer.read())["version"] == 1
        it.send_signal(signal.SIGTERM)
        assert it.wait(60) == 0


def test_serve_can_make_the_store_that_is_pushed_to_later(bundles: list[str], store: str) -> None:
    start = "from longshore.cli.main import main; main()"
    command = [sys.executable, "-c", start, "models", "serve", "--store", store, "--port", "0", "--make-store"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as it:
        assert it.stderr is not None
        address = it.stderr.readline().split()[2].replace("NAME", "el-rl")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address, timeout=30)
        refused.value.close()
        assert refused.value.code == 404
        run("push", bundles[0], "--alias", "live", "--store", store)
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert json.loads(answer.read())["version"] == 1
        it.send_signal(signal.SIGTERM)
        assert it.wait(60) == 0
