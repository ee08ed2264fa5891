"""Credentials from a program: how it is called, how long they are kept, what is said when it fails."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from longshore.core.words.errors import LongshoreError
from longshore.kube.identity import Certificate, Credentials
from longshore.kube.identity_exec import ExecCommand, ExecCredentials

VERSION = "client.authentication.k8s.io/v1"


def program(folder: Path, status: dict[str, Any] | None, script: str = "", version: str = VERSION) -> ExecCommand:
    """Write a program that notes how it was called and prints credentials."""
    path = folder / "login"
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    path.write_text(
        f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO|$FLAVOUR|$*" >> {folder}/calls\n{script}\n'
        f"cat <<'END'\n{json.dumps(answer)}\nEND\n"
    )
    path.chmod(0o755)
    return ExecCommand("./login", VERSION, ("get", "it"), {"FLAVOUR": "sweet"}, "install it", folder)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


async def test_program_is_run_once_for_many_requests(tmp_path: Path) -> None:
    source = ExecCredentials(program(tmp_path, {"token": "t"}))
    found = await asyncio.gather(*(source.current() for _ in range(5)))
    assert found == [Credentials("t")] * 5
    (call,) = calls(tmp_path)
    info, flavour, arguments = call.split("|")
    assert json.loads(info) == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert (flavour, arguments) == ("sweet", "get it")


async def test_program_is_run_again_when_the_credentials_expire(tmp_path: Path) -> None:
    now = [1_000_000.0]
    status = {"token": "t", "expirationTimestamp": "1970-01-12T13:48:20Z"}  # 1,000,100 s
    source = ExecCredentials(program(tmp_path, status), now=lambda: now[0])
    await source.current()
    now[0] += 80
    await source.current()
    assert len(calls(tmp_path)) == 1
    now[0] += 15
    await source.current()
    assert len(calls(tmp_path)) == 2


async def test_program_is_run_again_when_the_credentials_were_refused(tmp_path: Path) -> None:
    source = ExecCredentials(program(tmp_path, {"token": "t"}))
    await source.current()
    source.forget()
    await source.current()
    assert len(calls(tmp_path)) == 2


async def test_program_may_give_a_certificate(tmp_path: Path) -> None:
    source = ExecCredentials(program(tmp_path, {"clientCertificateData": "C", "clientKeyData": "K"}))
    assert await source.current() == Credentials(None, Certificate(b"C", b"K"))


async def test_program_that_is_missing_is_named_with_its_hint(tmp_path: Path) -> None:
    command = ExecCommand("./nowhere", VERSION, install_hint="get it from the shop", folder=tmp_path)
    with pytest.raises(LongshoreError, match=r"`./nowhere` cannot be started") as caught:
        await ExecCredentials(command).current()
    assert caught.value.hint == "get it from the shop"


@pytest.mark.parametrize(
    ("status", "script", "version", "says"),
    [
        ({"token": "t"}, "echo go away >&2; exit 3", VERSION, "ended with status 3: go away"),
        ({}, "", VERSION, "neither a token nor a certificate"),
        ({"clientCertificateData": "C"}, "", VERSION, "neither a token nor a certificate"),
        (None, "", VERSION, "with a status"),
        ({"token": "t"}, "", "client.authentication.k8s.io/v0", "gave `client.authentication.k8s.io/v0`, expected"),
        ({"token": "t"}, "echo hello", VERSION, "something else than an ExecCredential"),
    ],
)
async def test_program_that_fails_is_named(
    tmp_path: Path, status: dict[str, Any] | None, script: str, version: str, says: str
) -> None:
    with pytest.raises(LongshoreError, match=says):
        await ExecCredentials(program(tmp_path, status, script, version)).current()


async def test_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longshore.kube.identity_exec._DEADLINE_SECONDS", 0.05)
    with pytest.raises(LongshoreError, match="gave nothing within"):
        await ExecCredentials(program(tmp_path, {"token": "t"}, "exec sleep 60")).current()
