"""Pods on nodes that cannot take them are found, from the objects alone."""

from typing import Any

from longshore_lab.proof.load import make_pods
from longshore_lab.proof.recheck import misplaced

Json = dict[str, Any]


def node(name: str, cpu: str = "2", zone: str = "zone-a") -> Json:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    room = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room},
    }


def bound(number: int, where: str) -> Json:
    pod = make_pods(number + 1, "ns")[number]
    pod["metadata"]["uid"] = f"uid-{number}"
    pod["spec"]["nodeName"] = where
    return pod


def check(*items: Json) -> list[str]:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
    uids = {item["metadata"]["uid"] for item in items if item["kind"] == "Pod"}
    return misplaced([namespace, *items], uids)


def test_pods_that_fit_are_right() -> None:
    assert check(node("a"), node("b"), bound(0, "a"), bound(3, "a"), bound(8, "b")) == []


def test_more_than_a_node_has_is_found_with_every_pod() -> None:
    found = check(node("a", cpu="1"), bound(0, "a"), bound(5, "a"))
    assert len(found) == 2
    assert "Insufficient cpu" in found[0]


def test_the_wrong_zone_is_found() -> None:
    (found,) = check(node("a", zone="zone-b"), bound(1, "a"))
    assert "ns/p1 cannot be on a" in found


def test_a_host_port_that_is_taken_is_found() -> None:
    assert len(check(node("a"), bound(2, "a"), bound(7, "a"))) == 2


def test_pods_that_keep_away_from_each_other_are_found_together() -> None:
    assert len(check(node("a"), bound(3, "a"), bound(8, "a"))) == 2


def test_a_node_that_does_not_exist_is_found() -> None:
    assert check(node("a"), bound(0, "gone")) == ["ns/p0 is on `gone`, which does not exist"]


def test_pods_of_others_are_not_asked_about_and_still_use_room() -> None:
    items = [node("a", cpu="1"), bound(0, "a"), bound(5, "a")]
    assert len(misplaced(items, {"uid-0"})) == 1
