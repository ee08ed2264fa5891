"""What is known of a local cluster between two commands: its folder, its record on disk, its lock.

A cluster is a folder under the user's cache, `clusters/NAME`: `cluster.json` (this record), `kubeconfig`, `pki/`,
`config/`, `logs/` and etcd's data. The record is written after every process that is started, so that `down` finds them
all, whenever the starting was cut off.
"""

import contextlib
import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.core.words.quantity import parse_nanos
from longshore.store.location import cache_folder
from longshore_lab.cluster.processes import ProcessRecord

DEFAULT_NAME = "longshore"
MAX_NODES = 20_000
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,28}[a-z0-9])?")
_RECORD = "cluster.json"
# Below the range from which Linux takes the ports of outgoing connections: one of those can never sit on a part's port
# while that part is being restarted.
_PORTS = range(20_000, 32_000)


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster is made of."""

    name: str = DEFAULT_NAME
    nodes: int = 10
    """KWOK nodes: their pods are never run, only reported as running."""
    node_cpu: str = "64"
    node_memory: str = "256Gi"
    node_pods: int = 110
    real_nodes: int = 0
    """Nodes with a kubelet and containers of their own."""
    has_scheduler: bool = True
    """Run stock kube-scheduler, for pods that name no other."""
    has_audit: bool = False
    """The API server logs every write, and who it was."""
    has_history: bool = False
    """etcd keeps every write, as the checker needs it."""


class PartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a cluster, and how it is started again."""

    name: str
    command: list[str]
    port: int | None = None
    process: ProcessRecord | None = None
    """None: it is stopped on purpose."""


class ClusterRecord(msgspec.Struct, kw_only=True):
    """Everything that later commands need."""

    options: ClusterOptions
    address: str = "127.0.0.1"
    """Of the API server."""
    ports: dict[str, int] = {}
    parts: dict[str, PartRecord] = {}
    """In the order in which they were started."""
    is_ready: bool = False
    """False while it is being made, and for ever if that was cut off."""


def check_options(options: ClusterOptions) -> None:
    """Refuse what no cluster can be made of.

    Raises:
        InputError: a name, a number or a quantity is wrong.
    """
    check_name(options.name)
    for what, count in (("--nodes", options.nodes), ("--real-nodes", options.real_nodes)):
        if not 0 <= count <= MAX_NODES:
            raise InputError(f"got {what} {count}, expected a number from 0 to {MAX_NODES}")
    for what, amount in (("--node-cpu", options.node_cpu), ("--node-memory", options.node_memory)):
        if parse_nanos(amount) <= 0:
            raise InputError(f"got {what} {amount}, expected more than 0")


def check_name(name: str) -> None:
    """Refuse a name that is no plain folder name.

    Raises:
        InputError: it is not.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"got the cluster name `{name}`, expected at most 30 small letters, digits and `-`, "
            "with a letter or digit at both ends"
        )


def clusters_folder() -> Path:
    """Return the folder of all clusters."""
    return cache_folder() / "clusters"


def cluster_folder(name: str) -> Path:
    """Return the folder of one cluster, there or not."""
    check_name(name)
    return clusters_folder() / name


def cluster_names() -> list[str]:
    """Return the names of the clusters that are up, or half up."""
    folder = clusters_folder()
    return sorted(path.parent.name for path in folder.glob(f"*/{_RECORD}")) if folder.is_dir() else []


def read_record(name: str) -> ClusterRecord:
    """Read what is known of a cluster.

    Raises:
        UnknownNameError: there is none of that name.
    """
    path = cluster_folder(name) / _RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClusterRecord)
    except FileNotFoundError:
        names = cluster_names()
        raise UnknownNameError("cluster", name, names) from None
    except msgspec.DecodeError as error:
        raise LongshoreError(f"`{path}` is not readable: {error}", f"`longshore cluster down --name {name}`") from error


def write_record(record: ClusterRecord) -> None:
    """Write what is known of a cluster, whole or not at all."""
    path = cluster_folder(record.options.name) / _RECORD
    partial = path.with_suffix(".part")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1))
    partial.replace(path)


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold a cluster while it is made or taken down.

    Raises:
        LongshoreError: another process does that at this moment.
    """
    check_name(name)
    clusters_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    path = clusters_folder() / f".{name}.lock"
    with _locked(path):
        try:
            yield
        finally:
            if not cluster_folder(name).exists():
                path.unlink()  # nothing is left of the cluster


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    while True:
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LongshoreError(
                    f"another command is starting or stopping the cluster `{path.stem.removeprefix('.')}`",
                    "wait until it has ended",
                ) from None
            # Whoever held it before may have removed the file: then this is a lock on nothing.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                    yield
                    return


def claim_ports(record: ClusterRecord, names: list[str]) -> None:
    """Give a port to each name that has none yet, and write the record: from then on no other cluster takes them."""
    folder = clusters_folder()
    with (folder / ".ports.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        taken = set(record.ports.values())
        for other in cluster_names():
            if other != record.options.name:
                # One that is gone by now has none; of one with a broken record those that are in use are seen below.
                with contextlib.suppress(LongshoreError):
                    taken.update(read_record(other).ports.values())
        candidates = (port for port in _PORTS if port not in taken and _is_free(port))
        for name in names:
            if name not in record.ports:
                record.ports[name] = next(candidates)
        write_record(record)


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        # As Go's listeners do it: a connection that was closed a moment ago does not hold its port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("0.0.0.0", port))  # on every address; it is never listened on
        except OSError:
            return False
    return True
