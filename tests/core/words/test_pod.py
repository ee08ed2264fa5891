"""Pods: host ports, GPU requests, identity."""

import pickle
import subprocess
import sys

import pytest

from longshore.core.words.pod import Container, GpuRequest, HostPort, Owner, Pod, PodSpec
from support.builders import make_pod

ANY = HostPort(0).ip

PORTS = {
    "the same port": (HostPort(80), HostPort(80), True),
    "another port": (HostPort(80), HostPort(81), False),
    "another protocol": (HostPort(80), HostPort(80, "UDP"), False),
    "two addresses": (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), False),
    "one address": (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), True),
    "any address takes every address": (HostPort(80, ip=ANY), HostPort(80, ip="10.0.0.1"), True),
    "any address, another protocol": (HostPort(80, ip=ANY), HostPort(80, "UDP", "10.0.0.1"), False),
}


@pytest.mark.parametrize(("one", "other", "want_conflict"), PORTS.values(), ids=PORTS)
def test_host_port_conflicts_both_ways(one: HostPort, other: HostPort, want_conflict: bool) -> None:
    assert one.conflicts(other) is want_conflict
    assert other.conflicts(one) is want_conflict


def test_host_ports_are_those_of_containers_and_sidecars_only() -> None:
    spec = PodSpec(
        containers=(Container(ports=(HostPort(1), HostPort(2))), Container(ports=(HostPort(3),))),
        init_containers=(Container(ports=(HostPort(4),)), Container(ports=(HostPort(5),), is_sidecar=True)),
    )
    assert {port.port for port in spec.host_ports} == {1, 2, 3, 5}


def test_gpu_request_is_shared_below_a_whole_device() -> None:
    assert GpuRequest(1, 999).is_shared
    assert not GpuRequest(1, 1000).is_shared
    assert not GpuRequest(4, 1000).is_shared


def test_pod_key_names_the_namespace() -> None:
    pod = make_pod("web").namespace("shop").build()
    assert (pod.namespace, pod.key) == ("shop", "shop/web")


def test_pods_with_equal_specs_share_their_identity() -> None:
    one = make_pod("a").cpu("500m").label("app", "x").label("tier", "y").build()
    other = make_pod("b").cpu("0.5").label("tier", "y").label("app", "x").on("node").priority(7).build()
    assert one != other
    assert one.spec == other.spec
    assert hash(one.spec) == hash(other.spec)


def test_pod_waits_until_it_is_bound() -> None:
    assert Pod("a").bound_to == ""


def test_a_spec_that_was_pickled_is_the_same_key_in_another_process():
    """Python hashes strings differently in every process, and a spec keeps its hash."""
    spec = make_pod("p").label("app", "x").build().spec
    assert {spec: 1}[pickle.loads(pickle.dumps(spec))] == 1
    program = (
        "import pickle, sys; from longshore.core.words.pod import PodSpec;"
        "spec = pickle.loads(sys.stdin.buffer.read()); print({PodSpec(labels=spec.labels): 'found'}.get(spec))"
    )
    bare = PodSpec(labels=spec.labels)
    hash(bare)
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(bare), capture_output=True, check=True)
    assert done.stdout.strip() == b"found"


OWNERS = {
    "nobody": (None, True),
    "a ReplicaSet": (Owner("apps/v1", "ReplicaSet", "web"), True),
    "a DaemonSet": (Owner("apps/v1", "DaemonSet", "agent"), False),
    "a DaemonSet of another group": (Owner("apps.kruise.io/v1alpha1", "DaemonSet", "agent"), False),
    "a node, as mirrors have": (Owner("v1", "Node", "a"), False),
    "something else that is called so": (Owner("longhorn.io/v1beta2", "Node", "a"), True),
}


@pytest.mark.parametrize(("owner", "want"), OWNERS.values(), ids=OWNERS)
def test_pods_that_belong_to_a_node_do_not_keep_it_on(owner: Owner | None, want: bool) -> None:
    assert PodSpec(owner=owner).keeps_node_on is want
