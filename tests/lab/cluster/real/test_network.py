"""Tests of the network of real nodes: addresses that do not meet, and the commands that make it."""

import ipaddress
import json

import pytest

from longshore.core.words.errors import LongshoreError
from longshore_lab.cluster.real import network
from longshore_lab.cluster.real.network import Network

NETWORK = Network("abc123", 140)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note commands instead of running them."""
    noted: list[str] = []
    monkeypatch.setattr(network, "run", lambda command: noted.append(" ".join(command)) or "")
    monkeypatch.setattr(network, "run_anyway", lambda command: noted.append(" ".join(command)))
    return noted


def test_no_two_nodes_share_an_address() -> None:
    indices = range(network.MAX_NODES)
    subnets = [ipaddress.ip_network(NETWORK.pod_subnet(index)) for index in indices]
    nodes = [ipaddress.ip_address(NETWORK.node_address(index)) for index in indices]
    machine = ipaddress.ip_network("10.140.0.0/24")
    assert len(set(subnets)) == len(set(nodes)) == network.MAX_NODES
    assert not any(subnet.overlaps(machine) for subnet in subnets)
    assert all(node in machine for node in nodes)
    assert ipaddress.ip_address(NETWORK.gateway) not in nodes


def test_names_of_interfaces_fit_into_the_kernels_15_letters() -> None:
    assert len(f"{NETWORK.bridge}n{network.MAX_NODES}") <= 15


def test_a_network_that_the_machine_uses_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [{"dst": "default"}, {"dst": "10.131.0.0/24"}, {"dst": "10.132.7.9"}, {"dst": "192.0.2.0/24"}]
    monkeypatch.setattr(network, "run", lambda _: json.dumps(routes))
    assert network.choose("t") == Network("t", 133)


def test_without_a_free_network_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [{"dst": f"10.{number}.0.0/16"} for number in range(256)]
    monkeypatch.setattr(network, "run", lambda _: json.dumps(routes))
    with pytest.raises(LongshoreError, match="every network from"):
        network.choose("t")


def test_a_node_knows_the_way_to_the_pods_of_all_others(commands: list[str]) -> None:
    network.create_namespace(NETWORK, 1, 3)
    routes = [command for command in commands if "route add 10." in command]
    assert routes == [
        "ip -n longshore-abc123-1 route add 10.140.1.0/24 via 10.140.0.10",
        "ip -n longshore-abc123-1 route add 10.140.3.0/24 via 10.140.0.12",
        "ip route add 10.140.2.0/24 via 10.140.0.11",
    ]


def test_only_what_carries_the_tag_is_removed(monkeypatch: pytest.MonkeyPatch, commands: list[str]) -> None:
    listed = "longshore-abc123-0 (id: 1)\nlongshore-abc999-0\nother\nlongshore-abc123-11\n"
    monkeypatch.setattr(network, "run", lambda _: listed)
    network.remove("abc123")
    assert commands == [
        "ip netns delete longshore-abc123-0",
        "ip netns delete longshore-abc123-11",
        "ip link delete lsabc123",
    ]


def test_pods_get_addresses_of_their_node() -> None:
    config = json.dumps(network.pod_network_config(NETWORK, 4))
    assert '"subnet": "10.140.5.0/24"' in config
    assert '"isGateway": true' in config
