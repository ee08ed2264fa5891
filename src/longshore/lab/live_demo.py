"""One workload in one local cluster under two schedulers, one after the other, on fresh equal nodes each time."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longshore.core.errors import LongshoreError
from longshore.core.trace import Trace
from longshore.evaluation.timeline import window
from longshore.lab.cluster import ClusterOptions, LocalCluster, down, up
from longshore.lab.cluster.local import last_lines
from longshore.lab.cluster.state import PartRecord
from longshore.lab.workload.ground import Wishes
from longshore.lab.workload.run import Run
from longshore.workloads.build import build_workload

STOCK, OWN = "default-scheduler", "longshore"
PART = "longshore-schedule"
_COMMAND = (sys.executable, "-c", "from longshore.cli.main import main; main()", "schedule", "--store=none")
_SAYS = "scheduling pods with"
_READY_SECONDS = 60.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Demo:
    """What is shown."""

    workload: str = "test1"
    seed: int = 0
    speed: float = 10.0

    def run(self, scheduler_name: str) -> Run:
        """Return how the workload is run under a scheduler."""
        wishes = Wishes(self.workload, self.seed, scheduler_name, makes_nodes=True)
        return Run(wishes, self.speed, window(self.trace).end)

    @property
    def trace(self) -> Trace:
        """The workload's trace."""
        return build_workload(self.workload, {}).trace(self.seed)


@contextmanager
def empty_cluster(name: str, tell: Callable[[str], None]) -> Iterator[LocalCluster]:
    """Give a cluster without nodes, with stock kube-scheduler; it is taken down afterwards."""
    cluster = up(ClusterOptions(name=name, nodes=0), tell)
    try:
        yield cluster
    finally:
        down(name)


@contextmanager
def scheduling(cluster: LocalCluster, policy: Path) -> Iterator[None]:
    """Run `longshore schedule` with a policy as a part of the cluster, with the rights of `deploy/rbac.yaml`."""
    kubeconfig = cluster.kubeconfig_for("longshore-scheduler")
    command = [*_COMMAND, f"--policy={policy.resolve()}", f"--kubeconfig={kubeconfig}"]
    cluster.add_part(PartRecord(name=PART, command=command))
    try:
        _wait(cluster)
        yield
    finally:
        cluster.stop_part(PART)


def _wait(cluster: LocalCluster) -> None:
    log, deadline = cluster.log(PART), time.monotonic() + _READY_SECONDS
    while not (log.is_file() and _SAYS in log.read_text(encoding="utf-8", errors="replace")):
        cluster.check_alive([PART])
        if time.monotonic() > deadline:
            lines = "\n".join(last_lines(log))
            raise LongshoreError(f"`longshore schedule` does not schedule after {_READY_SECONDS:g} s:\n{lines}")
        time.sleep(_POLL_SECONDS)
