"""The schedulers behind the fault proxy, each a process under a supervisor, with a lease and exactly its own rights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from longshore.policies.bundle_folder import write_folder
from longshore_lab.cluster import LocalCluster, parts
from longshore_lab.cluster.access import LONGSHORE_ACCOUNT, PLUGIN_ACCOUNT
from longshore_lab.cluster.lifecycle import SCHEDULER as STOCK
from longshore_lab.cluster.state import claim_ports
from longshore_lab.plugin_process import PROGRAM, delivered_config
from longshore_lab.proof.fault_proxy import FaultProxy, kubeconfig_through
from longshore_lab.proof.load import SCHEDULER
from longshore_lab.proof.plugin_bundles import packing_bundle
from longshore_lab.proof.scheduler_process import SCHEDULES, SchedulerProcess, SupervisedProcess

LEADS: Final = "Successfully acquired lease"
"""What kube-scheduler says when it decides."""
_LEASE_NAMESPACE = "longshore-system"
_PART = "proxied"


class Proxied(NamedTuple):
    """One kind of scheduler."""

    make: Callable[[LocalCluster, FaultProxy, Path], SupervisedProcess]
    """Takes the log, too."""
    says: str
    """What it says when it decides."""
    lease: str
    """Where its lease lies: namespace/name."""
    shown: str = ""
    """Whose certificate the proxy shows in its name; empty = it has a token."""
    heals_itself: bool = False
    """What it lost on the wire it finds again. client-go's informers may wait for a version of the future after etcd
    was set back, and lose what cannot be read."""

    @property
    def lease_path(self) -> str:
        """Return where the API server has its lease."""
        namespace, _, name = self.lease.partition("/")
        return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"


def _standalone(cluster: LocalCluster, proxy: FaultProxy, log: Path) -> SupervisedProcess:
    return SchedulerProcess(
        _through(cluster, proxy, cluster.kubeconfig_for(LONGSHORE_ACCOUNT)), log, elects_leader=True
    )


def _plugin(cluster: LocalCluster, proxy: FaultProxy, log: Path) -> SupervisedProcess:
    model, config = log.with_suffix(".model"), delivered_config("profile-plugin")
    write_folder(model, packing_bundle())
    config["profiles"][1]["pluginConfig"] = [{"name": "Longshore", "args": {"modelPath": str(model)}}]
    lease = {"resourceNamespace": _LEASE_NAMESPACE, "resourceName": PLUGIN_ACCOUNT}
    kubeconfig = _through(cluster, proxy, cluster.kubeconfig_for(PLUGIN_ACCOUNT))
    return _kube_scheduler(cluster, config, PROGRAM, kubeconfig, log, lease)


def _stock(cluster: LocalCluster, proxy: FaultProxy, log: Path) -> SupervisedProcess:
    config = {"profiles": [{"schedulerName": SCHEDULER}]}
    kubeconfig = _through(cluster, proxy, cluster.folder / "config" / "scheduler.kubeconfig")
    return _kube_scheduler(cluster, config, STOCK, kubeconfig, log, {})


def _kube_scheduler(
    cluster: LocalCluster, config: dict[str, Any], program: str, kubeconfig: Path, log: Path, lease: dict[str, str]
) -> SupervisedProcess:
    claim_ports(cluster.record, [_PART])
    config["leaderElection"] = {"leaderElect": True, **lease}
    port = cluster.record.ports[_PART]
    part = parts.scheduler_part(cluster.folder, _PART, port, config, 2, program, kubeconfig)
    return SupervisedProcess(part.command, log, {}, {})


def _through(cluster: LocalCluster, proxy: FaultProxy, kubeconfig: Path) -> Path:
    return kubeconfig_through(proxy, kubeconfig, cluster.folder / "config" / "proxied.kubeconfig")


THROUGH: Final[dict[str, Proxied]] = {
    "schedule": Proxied(_standalone, SCHEDULES, f"{_LEASE_NAMESPACE}/{LONGSHORE_ACCOUNT}", heals_itself=True),
    "plugin": Proxied(_plugin, LEADS, f"{_LEASE_NAMESPACE}/{PLUGIN_ACCOUNT}"),
    "stock": Proxied(_stock, LEADS, "kube-system/kube-scheduler", shown="scheduler"),
}
"""`longshore schedule`, kube-scheduler with the plugin, and stock kube-scheduler as the control."""
