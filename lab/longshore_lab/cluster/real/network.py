"""The network of real nodes: a namespace for each, on one bridge of the machine, with routes to every node's pods.

    10.X.0.1         the machine, and the API server
    10.X.0.10 + i    node i, its kubelet and its container runtime in a network namespace
    10.X.(i+1).0/24  the pods of node i, on a bridge inside that namespace

The machine reaches every pod, pods reach each other, and nothing of the machine's own settings is changed: all traffic
goes over the one bridge, so that neither forwarding nor address translation is needed.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from longshore.core.words.errors import LongshoreError
from longshore_lab.cluster.real.host import run, run_anyway

MAX_NODES = 200
_FIRST_NODE = 10
_NETWORKS = range(131, 251)


@dataclass(frozen=True)
class Network:
    """The network of one cluster."""

    tag: str
    number: int
    """X in the addresses above."""

    @property
    def bridge(self) -> str:
        """Return the name of the machine's bridge."""
        return f"ls{self.tag}"

    @property
    def gateway(self) -> str:
        """Return the machine's address."""
        return f"10.{self.number}.0.1"

    def namespace(self, index: int) -> str:
        """Return the name of a node's network namespace."""
        return f"longshore-{self.tag}-{index}"

    def node_address(self, index: int) -> str:
        """Return the address of a node."""
        return f"10.{self.number}.0.{_FIRST_NODE + index}"

    def pod_subnet(self, index: int) -> str:
        """Return where the pods of a node have their addresses."""
        return f"10.{self.number}.{index + 1}.0/24"


def choose(tag: str) -> Network:
    """Return a network whose addresses nobody on this machine uses.

    Raises:
        LongshoreError: there is none.
    """
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    used = {str(route.get("dst", "")) for route in routes}
    taken = {int(found.group(1)) for text in used if (found := re.match(r"10\.(\d+)\.", text))}
    for number in _NETWORKS:
        if number not in taken:
            return Network(tag, number)
    raise LongshoreError("every network from 10.131.0.0/16 to 10.250.0.0/16 is used on this machine")


def create_bridge(network: Network) -> None:
    """Make the machine's bridge, which has the API server's address."""
    run(["ip", "link", "add", network.bridge, "type", "bridge"])
    run(["ip", "address", "add", f"{network.gateway}/24", "dev", network.bridge])
    run(["ip", "link", "set", network.bridge, "up"])


def create_namespace(network: Network, index: int, num_nodes: int) -> None:
    """Make a node's network namespace, on the bridge, with routes to the pods of the others."""
    name, outside, inside = network.namespace(index), f"{network.bridge}n{index}", "eth0"
    run(["ip", "netns", "add", name])
    run(["ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name])
    run(["ip", "link", "set", outside, "master", network.bridge, "up"])
    within = ["ip", "-n", name]
    run([*within, "link", "set", "lo", "up"])
    run([*within, "address", "add", f"{network.node_address(index)}/24", "dev", inside])
    run([*within, "link", "set", inside, "up"])
    run([*within, "route", "add", "default", "via", network.gateway])
    for other in range(num_nodes):
        if other != index:
            run([*within, "route", "add", network.pod_subnet(other), "via", network.node_address(other)])
    run(["nsenter", f"--net=/run/netns/{name}", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
    run(["ip", "route", "add", network.pod_subnet(index), "via", network.node_address(index)])


def remove(tag: str) -> None:
    """Remove every namespace and interface of a cluster; the routes go with them."""
    # A deleted namespace takes its interfaces along only when the kernel gets to it, on a busy machine seconds later.
    for outside in Path("/sys/class/net").glob(f"ls{tag}n*"):
        run_anyway(["ip", "link", "delete", outside.name])
    for line in run(["ip", "netns", "list"]).splitlines():
        name = line.split()[0]
        if name.startswith(f"longshore-{tag}-"):
            run_anyway(["ip", "netns", "delete", name])
    run_anyway(["ip", "link", "delete", f"ls{tag}"])


def pod_network_config(network: Network, index: int) -> dict[str, object]:
    """Return the CNI configuration of a node: a bridge for its pods, addresses out of its subnet."""
    ranges = [[{"subnet": network.pod_subnet(index)}]]
    addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "0.4.0", "name": "longshore", "plugins": [bridge]}
