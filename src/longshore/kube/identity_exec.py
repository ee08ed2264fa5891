"""Credentials from a program (`client.authentication.k8s.io`), as clouds and single sign-on hand them out.

The program is run when the first request needs it and again when what it gave has expired or was refused.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube.identity import Certificate, Credentials

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_DEADLINE_SECONDS = 60.0
# A token that ends while the request is on its way helps nobody.
_EARLY_SECONDS = 10.0


@dataclass(frozen=True)
class ExecCommand:
    """How the program is called."""

    command: str
    api_version: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    install_hint: str | None = None
    folder: Path | None = None
    """The kubeconfig's folder: a command with a slash in it is meant from there."""
    cluster: Mapping[str, object] | None = None
    """What the program is told about the cluster (provideClusterInfo)."""


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    status: _ExecStatus | None = None


class ExecCredentials:
    """Runs the program and keeps what it gave until that expires."""

    def __init__(self, command: ExecCommand, now: Callable[[], float] = time.time) -> None:
        self._command = command
        self._now = now
        self._held: Credentials | None = None
        self._expires = float("inf")
        self._lock = asyncio.Lock()

    async def current(self) -> Credentials:
        """Return the credentials; many requests at once run the program once.

        Raises:
            LongshoreError: the program is missing, failed, or gave something else than credentials.
        """
        if self._held is not None and self._now() < self._expires - _EARLY_SECONDS:
            return self._held
        async with self._lock:
            if self._held is None or self._now() >= self._expires - _EARLY_SECONDS:
                self._take(await self._run())
            assert self._held is not None
            return self._held

    def forget(self) -> None:
        """Run the program again next time."""
        self._held = None

    def _take(self, status: _ExecStatus) -> None:
        certificate = None
        if status.client_certificate_data and status.client_key_data:
            certificate = Certificate(status.client_certificate_data.encode(), status.client_key_data.encode())
        if certificate is None and not status.token:
            raise self._failed("gave neither a token nor a certificate with its key")
        self._held = Credentials(status.token, certificate)
        expires = status.expiration_timestamp
        self._expires = float("inf") if expires is None else expires.timestamp()

    async def _run(self) -> _ExecStatus:
        command = self._command
        program = command.command
        if command.folder is not None and "/" in program and not program.startswith("/"):
            program = str(command.folder / program)
        spec: dict[str, object] = {"interactive": False}
        if command.cluster is not None:
            spec["cluster"] = command.cluster
        asked = {"apiVersion": command.api_version, "kind": "ExecCredential", "spec": spec}
        environment = os.environ | command.environment
        environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(asked).decode()
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                program, *command.arguments, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror or error}") from error
        try:
            output, complaint = await asyncio.wait_for(process.communicate(), _DEADLINE_SECONDS)
        except TimeoutError as error:
            raise self._failed(f"gave nothing within {_DEADLINE_SECONDS:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = complaint.decode("utf-8", "replace").strip()[-500:]
            raise self._failed(f"ended with status {process.returncode}: {said}")
        return self._decode(output)

    def _decode(self, output: bytes) -> _ExecStatus:
        try:
            given = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._failed(f"gave something else than an ExecCredential: {error}") from error
        if given.api_version != self._command.api_version or given.status is None:
            wanted = f"an ExecCredential of `{self._command.api_version}` with a status"
            raise self._failed(f"gave `{given.api_version}`, expected {wanted}")
        return given.status

    def _failed(self, what: str) -> LongshoreError:
        hint = self._command.install_hint or "run the command of the kubeconfig's user by hand to see what it says"
        return LongshoreError(f"the credential program `{self._command.command}` {what}", hint)
