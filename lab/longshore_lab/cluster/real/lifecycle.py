"""Start the real nodes of a cluster, and clear away all that they leave on the machine."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from longshore.core.words.errors import InputError, LongshoreError
from longshore_lab.cluster.local import LocalCluster
from longshore_lab.cluster.real import cgroups, images, mounts, network, node
from longshore_lab.cluster.real.host import check_host, run, tag_of
from longshore_lab.cluster.real.network import Network
from longshore_lab.cluster.real.node import RealNode

_SOCKET_SECONDS = 30.0


def prepare(folder: Path, num_nodes: int) -> Network:
    """Look whether the machine can have real nodes, and make the bridge on which the API server will listen.

    Raises:
        InputError: too many nodes.
        LongshoreError: the machine lacks something.
    """
    if num_nodes > network.MAX_NODES:
        raise InputError(f"got --real-nodes {num_nodes}, expected at most {network.MAX_NODES}")
    check_host()
    chosen = network.choose(tag_of(folder))
    network.create_bridge(chosen)
    return chosen


def start(cluster: LocalCluster, chosen: Network, say: Callable[[str], None]) -> None:
    """Start containerd and kubelet of every node; the nodes register themselves some seconds later."""
    num_nodes = cluster.options.real_nodes
    nodes = [RealNode(index, cluster.folder, chosen) for index in range(num_nodes)]
    archives = images.write_archives(cluster.folder / "images")
    room = node.shared_room(num_nodes)
    mounts.create_run_folder(node.run_folder(chosen.tag))
    for one in nodes:
        one.folder.mkdir(parents=True)
        one.run_folder.mkdir()
        mounts.create_namespace(one.mounts, one.folder)
        network.create_namespace(chosen, one.index, num_nodes)
        cgroups.create(one.cgroup)
        cluster.add_part(node.containerd_part(one))
    say(f"{num_nodes} containerd started, loading images")
    for one in nodes:
        _wait_for_socket(cluster, one)
        for archive in archives:
            run(["ctr", f"--address={one.socket}", "--namespace=k8s.io", "images", "import", str(archive)])
        cluster.add_part(node.kubelet_part(one, cluster.server, room))
    say(f"{num_nodes} kubelets started")


def clear_away(folder: Path) -> None:
    """Remove what real nodes have left: containers, cgroups, mounts, network, sockets. Their parts are stopped before.

    Does nothing for a cluster that never had real nodes.
    """
    tag = tag_of(folder)
    run_folder = node.run_folder(tag)
    bridge = Path("/sys/class/net") / f"ls{tag}"
    if not (run_folder.exists() or bridge.exists()):
        return
    cgroups.remove(node.cgroup_of(tag))
    mounts.remove(run_folder)
    network.remove(tag)
    shutil.rmtree(run_folder, ignore_errors=True)


def _wait_for_socket(cluster: LocalCluster, one: RealNode) -> None:
    deadline = time.monotonic() + _SOCKET_SECONDS
    name = f"containerd-{one.index}"
    while not one.socket.exists():
        cluster.check_alive([name])
        if time.monotonic() > deadline:
            raise LongshoreError(f"{name} does not listen after {_SOCKET_SECONDS:g} s", f"see {cluster.log(name)}")
        time.sleep(0.05)
