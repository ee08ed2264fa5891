"""A local cluster that is up: its parts, each of which can be stopped, paused and started again, and its identities."""

import shutil
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore.kube.client import Client
from longshore.live import api
from longshore_lab.build import require_program
from longshore_lab.cluster import access, identities, parts, processes
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord, PartRecord, claim_ports, write_record

SERVICE_ACCOUNT_NAMESPACE = "longshore-system"
"""Where `deploy/rbac.yaml` puts longshore's own service accounts."""
GRACE_SECONDS = 5.0
_TOKEN_SECONDS = 10 * 365 * 24 * 3600
_READY_SECONDS = 180.0
"""With ten thousands of objects, on a machine that others use as well, an API server reads for more than a minute."""
_LOG_LINES = 15
_LOG_BYTES = 16_384


@dataclass(frozen=True)
class PartStatus:
    """How one part is at this moment."""

    name: str
    state: str
    """`running`, `stopped` (on purpose) or `dead`."""
    pid: int | None
    port: int | None
    memory_bytes: int | None
    log: Path
    last_lines: tuple[str, ...] = ()
    """Of the log of a part that died."""


class LocalCluster:
    """One cluster; several may run side by side."""

    def __init__(self, folder: Path, record: ClusterRecord) -> None:
        self.folder = folder
        self.record = record

    @property
    def name(self) -> str:
        """Return its name."""
        return self.record.options.name

    @property
    def options(self) -> ClusterOptions:
        """Return what it was made of."""
        return self.record.options

    @property
    def kubeconfig(self) -> Path:
        """Return the administrator's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def server(self) -> str:
        """Return the address of the API server."""
        return f"https://{self.record.address}:{self.record.ports['kube-apiserver']}"

    def log(self, name: str) -> Path:
        """Return the log of a part."""
        return self.folder / "logs" / f"{name}.log"

    def status(self) -> list[PartStatus]:
        """Return how every part is."""
        return [self._part_status(part) for part in self.record.parts.values()]

    def start_part(self, name: str) -> None:
        """Start a part (again), on the port that it had; one that runs is left alone."""
        part = self._part(name)
        if part.process is None or not processes.is_alive(part.process):
            self.add_part(part)

    def add_part(self, part: PartRecord) -> None:
        """Start a process as a part of this cluster, to be shown and stopped with it."""
        process = processes.start(part.command, self.log(part.name), self.folder)
        self.record.parts[part.name] = msgspec.structs.replace(part, process=process)
        write_record(self.record)

    def stop_part(self, name: str, grace_seconds: float = GRACE_SECONDS) -> None:
        """Stop a part and wait until it has ended; with no grace it is killed, as by `kill -9`."""
        part = self._part(name)
        if part.process is not None:
            if grace_seconds <= 0:
                processes.send(part.process, signal.SIGKILL)
            processes.stop([part.process], max(grace_seconds, 0.0))
            self.record.parts[name] = msgspec.structs.replace(part, process=None)
            write_record(self.record)

    def restart_apiserver(self, grace_seconds: float = 0.0) -> None:
        """Stop the API server, start it on the same port and wait until it is ready."""
        self.stop_part("kube-apiserver", grace_seconds)
        self.start_part("kube-apiserver")
        self.wait_for_apiserver()

    def back_up(self) -> Path:
        """Copy what etcd holds; it is away meanwhile."""
        copy = self.folder / "etcd.backup"
        self.stop_part("etcd")
        shutil.copytree(self.folder / "etcd", copy)
        self.start_part("etcd")
        self.wait_for_apiserver()
        return copy

    def restore(self, copy: Path) -> None:
        """Put a copy in the place of what etcd holds: all that was written since has never been.

        What belongs to the cluster itself is started again, as it would wait for what comes after its last version.
        """
        for name in reversed((*parts.CONTROL_PLANE, *parts.FOLLOWERS)):
            self.stop_part(name, 0.0)
        shutil.rmtree(self.folder / "etcd")
        copy.rename(self.folder / "etcd")
        for name in parts.CONTROL_PLANE:
            self.start_part(name)
        self.wait_for_apiserver()
        for name in parts.FOLLOWERS:
            self.start_part(name)

    def pause_part(self, name: str) -> None:
        """Stop a part in its tracks (SIGSTOP): its connections stay open and nothing is answered."""
        self._send(name, signal.SIGSTOP)

    def resume_part(self, name: str) -> None:
        """Let a paused part go on."""
        self._send(name, signal.SIGCONT)

    def start_scheduler(
        self, name: str, config: dict[str, Any] | None = None, verbosity: int = 0, program: str = "kube-scheduler"
    ) -> None:
        """Start one more kube-scheduler, with fields of a KubeSchedulerConfiguration such as `profiles`.

        Args:
            name: of the part.
            config: the fields.
            verbosity: of its log.
            program: upstream's, or `longshore-kube-scheduler`, which knows the plugin Longshore.
        """
        claim_ports(self.record, [name])
        self.add_part(parts.scheduler_part(self.folder, name, self.record.ports[name], config, verbosity, program))

    def wait_for_apiserver(self, seconds: float = _READY_SECONDS) -> None:
        """Wait until the API server says that it is ready.

        Raises:
            LongshoreError: it is not in time, or it or etcd has died, with the last lines of the log.
        """

        async def work(client: Client) -> None:
            async def is_over() -> bool:
                self.check_alive(parts.CONTROL_PLANE)
                return await api.answers(client, "/readyz")

            if not await api.until(is_over, seconds):
                raise LongshoreError(
                    f"kube-apiserver is not ready after {seconds:g} s", f"see {self.log('kube-apiserver')}"
                )

        api.call(self.kubeconfig, work)

    def check_alive(self, names: Iterable[str] | None = None) -> None:
        """Look whether parts run.

        Raises:
            LongshoreError: one has died; the last lines of its log are in the message.
        """
        for status in self.status():
            if status.state == "dead" and (names is None or status.name in names):
                lines = "\n".join(status.last_lines) or "(it said nothing)"
                raise LongshoreError(
                    f"{status.name} has ended; the last lines of its log:\n{lines}", f"see {status.log}"
                )

    def kubeconfig_for(self, service_account: str) -> Path:
        """Return a kubeconfig of one of longshore's service accounts, with exactly the rights that the chart gives it.

        Args:
            service_account: `longshore-scheduler` for `longshore schedule` (deploy/rbac.yaml), `longshore-plugin` for
                kube-scheduler with the plugin (deploy/longshore.yaml).
        """
        path = self.folder / "config" / f"{service_account}.kubeconfig"
        if path.is_file():
            return path
        rules = access.rules_of(service_account)

        async def work(client: Client) -> str:
            for rule in rules:  # in the order of the file: a namespace before what lies in it
                await api.create_all(client, [rule])
            token_path = f"/api/v1/namespaces/{SERVICE_ACCOUNT_NAMESPACE}/serviceaccounts/{service_account}/token"
            body = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": _TOKEN_SECONDS},
            }
            answer = msgspec.json.decode(await client.request("POST", token_path, body=body))
            return str(answer["status"]["token"])

        token = api.call(self.kubeconfig, work)
        authority = (self.folder / "pki" / "ca.crt").read_bytes()
        identities.write_kubeconfig(path, self.server, authority, {"token": token}, SERVICE_ACCOUNT_NAMESPACE)
        return path

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as administrator and return what it prints.

        Raises:
            LongshoreError: it failed.
        """
        command = [str(require_program("kubectl")), f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LongshoreError(f"`kubectl {' '.join(arguments)}` failed: {done.stderr.strip()}")
        return done.stdout

    def _part(self, name: str) -> PartRecord:
        if name not in self.record.parts:
            raise UnknownNameError("part", name, self.record.parts)
        return self.record.parts[name]

    def _send(self, name: str, signal_number: int) -> None:
        process = self._part(name).process
        if process is None or not processes.send(process, signal_number):
            raise LongshoreError(f"{name} of the cluster `{self.name}` does not run")

    def _part_status(self, part: PartRecord) -> PartStatus:
        log = self.log(part.name)
        if part.process is None:
            return PartStatus(part.name, "stopped", None, part.port, None, log)
        if processes.is_alive(part.process):
            memory = processes.memory_bytes(part.process)
            return PartStatus(part.name, "running", part.process.pid, part.port, memory, log)
        return PartStatus(part.name, "dead", part.process.pid, part.port, None, log, tuple(last_lines(log)))


def last_lines(log: Path, count: int = _LOG_LINES) -> list[str]:
    """Return the last lines of a log; none if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(file.seek(0, 2) - _LOG_BYTES, 0))
            return file.read().decode("utf-8", "replace").splitlines()[-count:]
    except FileNotFoundError:
        return []
