"""The schedulers that are measured, each a part of the cluster: kube-scheduler as it is, our plugin in it, ours alone.

All of them answer to one name, so that the pods need not differ, and none elects a leader.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

from longshore.policies.bundle_folder import write_folder
from longshore_lab.cluster import LocalCluster, parts
from longshore_lab.cluster.state import PartRecord, claim_ports
from longshore_lab.plugin_process import PROGRAM, delivered_config

SCHEDULER_NAME = "measured"
STANDALONE = "standalone"
PLUGIN, PLUGIN_FALLBACK = "plugin", "plugin-fallback"
STOCK: dict[str, dict[str, Any]] = {
    "stock": {"percentageOfNodesToScore": 100},
    "stock-sampled": {},
}
"""Modes of kube-scheduler: all nodes scored, and its default, by which it looks at some of them."""
PLUGINS = (PLUGIN, PLUGIN_FALLBACK)
"""Modes of kube-scheduler with our plugin: a bundle ranks, and no bundle is there, so that upstream's scores do."""
OURS = (*PLUGINS, STANDALONE)
MODES = (*STOCK, *OURS)

_DEADLINE = "1s"
"""Of the plugin, in place of its 20 ms: API server and etcd share the cores, and one pod that the kernel kept waiting
would be ranked by upstream's scores. How long it took is measured all the same."""
_OUR_COMMAND = (sys.executable, "-c", "from longshore.cli.main import main; main()", "schedule")


class Policies(NamedTuple):
    """What the modes of ours decide by."""

    standalone: str = "kube-default"
    """A name, or the folder of a bundle."""
    plugin: Path | None = None
    """The folder of a bundle; None = no plugin is measured."""


def part_name(mode: str) -> str:
    """Return what the scheduler of a mode is called among the parts of the cluster."""
    return f"speed-{mode}"


def make_part(cluster: LocalCluster, mode: str, policies: Policies, store: Path) -> PartRecord:
    """Return the scheduler of a mode as a part of the cluster, ready to be started."""
    name = part_name(mode)
    claim_ports(cluster.record, [name])
    port = cluster.record.ports[name]
    if mode in STOCK:
        config = {**STOCK[mode], "profiles": [{"schedulerName": SCHEDULER_NAME}]}
        part = parts.scheduler_part(cluster.folder, name, port, config)
    elif mode in PLUGINS:
        bundle = policies.plugin if mode == PLUGIN else None
        config = plugin_config(bundle or cluster.folder / "no-bundle")
        part = parts.scheduler_part(cluster.folder, name, port, config, program=PROGRAM)
    else:
        part = PartRecord(name=name, command=_standalone(cluster, policies.standalone, store, port), port=port)
    cluster.record.parts[name] = part
    return part


def plugin_config(bundle: Path) -> dict[str, Any]:
    """Return the configuration that we deliver for all pods, but for the names, the bundle and the deadline."""
    config = delivered_config("profile-replace")
    (profile,) = config["profiles"]
    profile["schedulerName"] = SCHEDULER_NAME
    (plugin,) = profile["pluginConfig"]
    plugin["args"] |= {"modelPath": str(bundle.resolve()), "deadline": _DEADLINE}
    return config


def write_random_bundle(folder: Path) -> Path:
    """Write a DeepSets policy of width 32, always the same, over all features that the plugin knows but those of GPUs.

    Its weights are random, which does not change how long it takes, and nothing is outside of its envelope.
    """
    # With JAX behind it, which nobody needs who measures a bundle of his own.
    from longshore_lab.contract_cases import PLUGIN_FEATURES
    from longshore_lab.speed.inference import random_bundle

    read = tuple(name for name in PLUGIN_FEATURES if not name.startswith(("gpu_", "pwr_", "cpu_per")))
    write_folder(folder, random_bundle(read))
    return folder


def _standalone(cluster: LocalCluster, policy: str, store: Path, port: int) -> list[str]:
    arguments = {
        "--policy": policy,
        "--scheduler-name": SCHEDULER_NAME,
        "--kubeconfig": str(cluster.kubeconfig_for("longshore-scheduler")),
        "--metrics-address": f"127.0.0.1:{port}",
        "--store": str(store),
    }
    told = [text for pair in arguments.items() for text in pair]
    return [*_OUR_COMMAND, *told, "--no-leader-elect"]
