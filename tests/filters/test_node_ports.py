"""Tests of NodePorts: when two pods cannot hold their host ports on one node."""

import pytest

from filters.judging import judge, refused
from longshore.core.words.pod import Container, HostPort
from longshore.filters.base import Rejection
from support.builders import PodBuilder, make_node, make_pod

NODES = (make_node("busy"), make_node("free"))


def pod_with(name: str, *ports: HostPort) -> PodBuilder:
    return make_pod(name).spec(containers=(Container(ports=ports),))


def test_a_port_that_is_taken_keeps_the_pod_away() -> None:
    want = Rejection("NodePorts", ("node(s) didn't have free ports for the requested pod ports",), is_resolvable=True)
    held, wanted = (pod_with(name, HostPort(8080)) for name in ("old", "new"))
    assert judge("NodePorts", *NODES, held.on("busy"), wanted) == {"busy": want}


@pytest.mark.parametrize(
    ("held", "wanted", "is_conflict"),
    [
        pytest.param(HostPort(80), HostPort(80), True, id="the same port"),
        pytest.param(HostPort(80), HostPort(81), False, id="another port"),
        pytest.param(HostPort(53, "UDP"), HostPort(53, "TCP"), False, id="another protocol"),
        pytest.param(HostPort(53, "UDP"), HostPort(53, "UDP"), True, id="the same protocol"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), False, id="another address"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), True, id="the same address"),
        pytest.param(HostPort(80), HostPort(80, ip="10.0.0.1"), True, id="any address is held, one is wanted"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80), True, id="one address is held, any is wanted"),
        pytest.param(HostPort(80, "UDP"), HostPort(80, "TCP", "10.0.0.1"), False, id="any address, another protocol"),
    ],
)
def test_ports_conflict_by_address_protocol_and_number(held: HostPort, wanted: HostPort, is_conflict: bool) -> None:
    found = refused("NodePorts", *NODES, pod_with("old", held).on("busy"), pod_with("new", wanted))
    assert found == ({"busy"} if is_conflict else set())


def test_one_taken_port_of_several_is_enough() -> None:
    pod = pod_with("new", HostPort(1), HostPort(2))
    assert refused("NodePorts", *NODES, pod_with("old", HostPort(2), HostPort(3)).on("busy"), pod) == {"busy"}


def test_a_pod_without_host_ports_may_go_anywhere() -> None:
    assert refused("NodePorts", *NODES, pod_with("old", HostPort(80)).on("busy"), make_pod("new")) == set()


@pytest.mark.parametrize("is_sidecar", [True, False], ids=["a sidecar holds its port", "an init container does not"])
def test_only_containers_that_stay_hold_ports(is_sidecar: bool) -> None:
    init = Container(ports=(HostPort(80),), is_sidecar=is_sidecar)
    old = make_pod("old").spec(init_containers=(init,), containers=(Container(),)).on("busy")
    assert refused("NodePorts", *NODES, old, pod_with("new", HostPort(80))) == ({"busy"} if is_sidecar else set())


def test_a_pod_that_is_being_deleted_still_holds_its_port() -> None:
    old = pod_with("old", HostPort(80)).spec(is_terminating=True).on("busy")
    assert refused("NodePorts", *NODES, old, pod_with("new", HostPort(80))) == {"busy"}
