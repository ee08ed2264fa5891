"""One workload in one local cluster under two schedulers, one after the other, on fresh equal nodes each time."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from longshore.core.words.errors import LongshoreError
from longshore.core.words.trace import Trace
from longshore.evaluation.timeline import window
from longshore.live.workload.ground import Wishes
from longshore.live.workload.run import RunOptions
from longshore.workloads.build import build_workload
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.cluster.local import last_lines
from longshore_lab.cluster.state import PartRecord

STOCK, OWN = "default-scheduler", "longshore"
PART = "longshore-schedule"
_COMMAND = (sys.executable, "-c", "from longshore.cli.main import main; main()", "schedule", "--store=none")
_SAYS = b"scheduling pods with"
_READY_SECONDS = 60.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Demo:
    """What is shown."""

    workload: str = "test1"
    seed: int = 0
    speed: float = 10.0

    def run(self, scheduler_name: str) -> RunOptions:
        """Return how the workload is run under a scheduler."""
        wishes = Wishes(self.workload, self.seed, scheduler_name, makes_nodes=True)
        return RunOptions(wishes, self.speed, window(self.trace).end)

    @property
    def trace(self) -> Trace:
        """The workload's trace."""
        return build_workload(self.workload, {}).trace(self.seed)


def empty_cluster(
    name: str, tell: Callable[[str], None], *, has_scheduler: bool = True
) -> AbstractContextManager[LocalCluster]:
    """Give a cluster without nodes, with stock kube-scheduler or none; it is taken down afterwards."""
    return temporary(ClusterOptions(name=name, nodes=0, has_scheduler=has_scheduler), tell)


@contextmanager
def scheduling(cluster: LocalCluster, policy: str, options: Sequence[str] = ()) -> Iterator[None]:
    """Run `longshore schedule` with a policy as a part of the cluster, with the rights of `deploy/rbac.yaml`.

    `options` are further ones of its command line.
    """
    kubeconfig = cluster.kubeconfig_for("longshore-scheduler")
    folder = Path(policy)
    chosen = folder.resolve() if folder.is_dir() else policy  # the part runs in the cluster's own folder
    command = [*_COMMAND, f"--policy={chosen}", f"--kubeconfig={kubeconfig}", *options]
    log = cluster.log(PART)
    said_before = log.stat().st_size if log.is_file() else 0
    cluster.add_part(PartRecord(name=PART, command=command))
    try:
        _wait(cluster, said_before)
        yield
    finally:
        cluster.stop_part(PART)


def _wait(cluster: LocalCluster, said_before: int) -> None:
    """Wait until it says that it schedules; the log may still have what an earlier one said."""
    log, deadline = cluster.log(PART), time.monotonic() + _READY_SECONDS
    while _SAYS not in log.read_bytes()[said_before:]:
        cluster.check_alive([PART])
        if time.monotonic() > deadline:
            lines = "\n".join(last_lines(log))
            raise LongshoreError(f"`longshore schedule` does not schedule after {_READY_SECONDS:g} s:\n{lines}")
        time.sleep(_POLL_SECONDS)
