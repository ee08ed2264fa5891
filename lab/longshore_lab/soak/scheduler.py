"""The scheduler of a soak as a part of the cluster: `longshore schedule` or kube-scheduler with the plugin."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from longshore.kube.client import Client
from longshore.kube.identity import Identity
from longshore.policies.bundle_folder import write_folder
from longshore.store.reader import DecisionReader
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.state import PartRecord, claim_ports
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.plugin_bundles import packing_bundle
from longshore_lab.proof.scene import ACCOUNT

KEPT_DECISIONS = 20_000
"""So few that a soak of some minutes reaches it."""
_MAX_LOG_SIZE = "6Mi"
"""About 12,000 decisions; there are two files at most."""
_PART = "soaked"
_COMMAND = (sys.executable, "-c", "from longshore.cli.main import main; main()", "schedule")


class Soaked(Protocol):
    """What is soaked."""

    log: Path
    """The decision log."""

    async def start(self) -> None:
        """Start it."""
        ...

    @property
    def pid(self) -> int:
        """Its process, the same one all the time."""
        ...

    async def page(self) -> str:
        """Return its page of metrics."""
        ...

    def num_decisions(self) -> int:
        """Say how many decisions are in its log."""
        ...


class Standalone:
    """`longshore schedule` with the rights of `deploy/rbac.yaml`, a lease and a decision log."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self.log = cluster.folder / "soak" / "decisions.db"

    async def start(self) -> None:
        """Start it."""
        cluster = self._cluster
        self.log.parent.mkdir()
        claim_ports(cluster.record, [_PART])
        told = {
            "--kubeconfig": str(cluster.kubeconfig_for(ACCOUNT)),
            "--metrics-address": f"127.0.0.1:{cluster.record.ports[_PART]}",
            "--store": str(self.log),
            "--keep-decisions": str(KEPT_DECISIONS),
        }
        command = [*_COMMAND, *(text for pair in told.items() for text in pair)]
        cluster.add_part(PartRecord(name=_PART, command=command, port=cluster.record.ports[_PART]))

    @property
    def pid(self) -> int:
        """Its process."""
        process = self._cluster.record.parts[_PART].process
        assert process is not None
        return process.pid

    async def page(self) -> str:
        """Return its page of metrics."""
        identity = Identity(f"http://127.0.0.1:{self._cluster.record.ports[_PART]}")
        async with Client(identity) as client:
            return (await client.request("GET", "/metrics")).decode()

    def num_decisions(self) -> int:
        """Say how many decisions are in its log."""
        reader = DecisionReader(str(self.log))
        try:
            return reader.count()
        finally:
            reader.close()


class Plugin:
    """Our kube-scheduler as delivered, with a bundle and a decision log."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster, self._process = cluster, PluginProcess(cluster)
        self.log = cluster.folder / "soak" / "decisions.jsonl"

    async def start(self) -> None:
        """Start it."""
        self.log.parent.mkdir()
        model = self.log.parent / "model"
        write_folder(model, packing_bundle())
        kept = {"decisionLog": str(self.log), "decisionLogMaxSize": _MAX_LOG_SIZE}
        await self._process.start({"modelPath": str(model), **kept})

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    async def page(self) -> str:
        """Return its page of metrics."""
        return await self._process.page()

    def num_decisions(self) -> int:
        """Say how many decisions are in its log."""
        files = self.log.parent.glob(f"{self.log.name}*")
        return sum(path.read_bytes().count(b"\n") for path in files)


THROUGH: Final[dict[str, Callable[[LocalCluster], Soaked]]] = {"schedule": Standalone, "plugin": Plugin}
