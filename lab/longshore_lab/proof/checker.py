"""The independent checker: upstream's own filters on every binding and every eviction that etcd was written.

The program is `controlplane/checker`; it has no code of ours. A cluster needs `has_history` for it.
"""

import contextlib
import subprocess
from types import TracebackType

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore_lab.build import require_program
from longshore_lab.cluster import LocalCluster

_STOP_SECONDS = 10.0


class Violation(msgspec.Struct, frozen=True):
    """One binding or eviction that upstream would not have done."""

    kind: str
    revision: int
    pod: str
    node: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.pod} on {self.node}: {self.why} (revision {self.revision})"


class Report(msgspec.Struct, frozen=True):
    """What the checker found since its last report."""

    upstream: str
    revisions: int
    bindings: int
    evictions: int
    unexplained: int
    """Evictions of which neither an event nor a promise says for whom they were."""
    violations: dict[str, int]
    """By kind, every kind with its count."""
    excused: dict[str, int]
    """Would be violations, had nothing changed in the 3 s before, or were the scheduler's own next writes unknown."""
    shown: list[Violation]
    """The first of them."""

    @property
    def num_violations(self) -> int:
        """Return how many there are."""
        return sum(self.violations.values())

    @property
    def num_excused(self) -> int:
        """Return how many bindings and evictions were excused."""
        return sum(self.excused.values())


class Checker:
    """A running checker that follows a cluster's etcd from its beginning; use it as a context manager.

    With a namespace, it judges what befell its pods alone.
    """

    def __init__(self, cluster: LocalCluster, namespace: str = "") -> None:
        pki = cluster.folder / "pki"
        command = [
            str(require_program("checker")),
            f"--endpoint=https://127.0.0.1:{cluster.record.ports['etcd']}",
            f"--ca={pki / 'etcd-ca.crt'}",
            f"--cert={pki / 'apiserver-etcd-client.crt'}",
            f"--key={pki / 'apiserver-etcd-client.key'}",
            f"--namespace={namespace}",
        ]
        self.log = cluster.log("checker")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)

    def __enter__(self) -> "Checker":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                pipe.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def report(self) -> Report:
        """Return what was found of all that has been written since the last report.

        Raises:
            LongshoreError: the checker has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            said = self.log.read_text(encoding="utf-8").strip().splitlines()[-1:]
            raise LongshoreError(f"the checker has ended: {' '.join(said)}", f"see `{self.log}`")
        return msgspec.json.decode(line, type=Report)


def check(cluster: LocalCluster, namespace: str) -> Report:
    """Return what upstream would not have done with the pods of one namespace until now."""
    with Checker(cluster, namespace) as checker:
        return checker.report()
