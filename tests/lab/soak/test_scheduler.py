"""The schedulers that are soaked: how they are started, and how their decisions are counted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from longshore.store.decisions import DecisionLog
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord, PartRecord
from longshore_lab.soak import scheduler
from longshore_lab.soak.scheduler import KEPT_DECISIONS, Plugin, Standalone
from store.samples import sample


class Cluster:
    """Takes parts, and starts none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, ClusterRecord(options=ClusterOptions())
        self.added: list[PartRecord] = []

    def kubeconfig_for(self, account: str) -> Path:
        return self.folder / f"{account}.kubeconfig"

    def add_part(self, part: PartRecord) -> None:
        self.added.append(part)


async def test_the_standalone_scheduler_keeps_few_decisions_and_elects_a_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scheduler, "claim_ports", lambda record, names: record.ports.update(dict.fromkeys(names, 1)))
    cluster = Cluster(tmp_path)
    soaked = Standalone(cast("Any", cluster))
    await soaked.start()
    (part,) = cluster.added
    assert part.command[part.command.index("--keep-decisions") + 1] == str(KEPT_DECISIONS)
    assert str(soaked.log) in part.command
    assert "--no-leader-elect" not in part.command
    with DecisionLog(str(soaked.log)) as log:
        for number in range(7):
            log.add(sample(number))
    assert soaked.num_decisions() == 7


async def test_the_plugin_has_a_bundle_and_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given: dict[str, Any] = {}

    async def start(arguments: dict[str, Any]) -> None:
        given.update(arguments)

    monkeypatch.setattr(scheduler, "PluginProcess", lambda _: SimpleNamespace(start=start, pid=1))
    soaked = Plugin(cast("Any", Cluster(tmp_path)))
    await soaked.start()
    assert (Path(given["modelPath"]) / "policy.json").is_file()
    soaked.log.write_text("{}\n" * 5)
    assert (soaked.num_decisions(), given["decisionLog"], soaked.pid) == (5, str(soaked.log), 1)
