"""Our kube-scheduler with the profile `longshore`, as delivered, as a process of a local cluster; and what it says."""

import re
from dataclasses import replace
from typing import Any, Final

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError
from longshore.live import api
from longshore_lab import build
from longshore_lab.cluster import LocalCluster, parts
from longshore_lab.cluster.access import PLUGIN_ACCOUNT
from longshore_lab.cluster.local import GRACE_SECONDS
from longshore_lab.cluster.processes import ProcessRecord, is_alive
from longshore_lab.cluster.state import claim_ports

PROGRAM: Final = "longshore-kube-scheduler"
FAILPOINT: Final = "LONGSHORE_FAILPOINT"
_PART = "plugin"
_READY_SECONDS = 60.0
_PROFILE = re.compile(r'(?<=\{)profile="[^"]*",?')


class PluginProcess:
    """One kube-scheduler, with the rights that the chart gives it; a cluster has one of these at a time."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._started: ProcessRecord | None = None

    async def start(self, arguments: dict[str, Any], failpoint: str = "") -> None:
        """Start it and wait until it is ready.

        Args:
            arguments: of the plugin.
            failpoint: as the program's environment takes it, such as `slow-scoring:25ms`; empty = none.

        Raises:
            LongshoreError: it ends, or is not ready in time.
        """
        config = delivered_config("profile-plugin")
        config["profiles"][1]["pluginConfig"] = [{"name": "Longshore", "args": arguments}]
        claim_ports(self._cluster.record, [_PART])
        port = self._cluster.record.ports[_PART]
        kubeconfig = self._cluster.kubeconfig_for(PLUGIN_ACCOUNT)
        part = parts.scheduler_part(self._cluster.folder, _PART, port, config, 2, PROGRAM, kubeconfig)
        command = ["/usr/bin/env", f"{FAILPOINT}={failpoint}", *part.command]  # becomes the program, with its own id
        self._cluster.add_part(msgspec.structs.replace(part, command=command))
        self._started = self._cluster.record.parts[_PART].process

        async def is_ready() -> bool:
            self._cluster.check_alive([_PART])
            try:
                await self._request("/readyz")
            except ApiError:
                return False
            return True

        if not await api.until(is_ready, _READY_SECONDS):
            raise LongshoreError(f"{PROGRAM} is not ready", f"see {self._cluster.log(_PART)}")

    @property
    def is_the_same(self) -> bool:
        """Say whether the very process that was started still runs."""
        return self._started is not None and is_alive(self._started)

    def stop(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End it; without grace it is killed."""
        if self._started is not None:
            self._cluster.stop_part(_PART, grace_seconds)

    @property
    def pid(self) -> int:
        """Return the process that was started."""
        assert self._started is not None
        return self._started.pid

    async def page(self) -> str:
        """Return its page of metrics."""
        return (await self._request("/metrics")).decode()

    async def metrics(self) -> dict[str, float]:
        """Return all series of its page by name and labels, as they are written there but for the profile's name."""
        return read_series(await self.page())

    async def _request(self, path: str) -> bytes:
        port = self._cluster.record.ports[_PART]
        identity = replace(load_identity(self._cluster.kubeconfig), server=f"https://127.0.0.1:{port}")
        async with Client(identity) as client:
            return await client.request("GET", path)


def delivered_config(name: str) -> dict[str, Any]:
    """Return a configuration that we deliver, such as `profile-plugin`, to be filled in."""
    path = build.SOURCE.parent / "scheduler" / "config" / f"{name}.yaml"
    config: dict[str, Any] = msgspec.yaml.decode(path.read_bytes())
    return config


def read_series(page: str) -> dict[str, float]:
    """Return the series of a page of metrics by name and labels: `name{label="value"}`.

    Ours are without the label `profile`: a process of these proofs has one profile with the plugin.
    """
    found = {}
    for line in page.splitlines():
        if line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            found[_PROFILE.sub("", series).removesuffix("{}")] = float(value)
    return found
