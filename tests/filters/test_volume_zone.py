"""Tests of VolumeZone: nodes in the zone and region of the pod's bound volumes."""

from typing import NamedTuple

import pytest

from filters.judging import judge, refused
from longshore.core.words.labels import Labels
from longshore.core.words.pod import Volume
from longshore.core.words.snapshot import PersistentVolume, PersistentVolumeClaim
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NAME = "VolumeZone"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
NODES = (
    make_node("east-a").label(ZONE, "a").label(REGION, "east"),
    make_node("east-b").label(ZONE, "b").label(REGION, "east"),
    make_node("region-only").label(REGION, "east"),
    make_node("nowhere"),
)
POD = make_pod("new").spec(volumes=(Volume("persistentVolumeClaim", "data"),))
CLAIM = PersistentVolumeClaim("default", "data", "disk")


def refused_for(*labels: tuple[str, str]) -> set[str]:
    return refused(NAME, *NODES, POD, claims=(CLAIM,), volumes=(PersistentVolume("disk", labels),))


def test_a_volume_of_another_zone_keeps_the_pod_away() -> None:
    want = Rejection(NAME, ("node(s) had no available volume zone",), is_resolvable=False)
    found = judge(NAME, *NODES, POD, claims=(CLAIM,), volumes=(PersistentVolume("disk", ((ZONE, "a"),)),))
    assert found == {"east-b": want, "region-only": want}


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param((), set(), id="a volume without a zone"),
        pytest.param(((ZONE, "a__b"),), {"region-only"}, id="a volume of two zones"),
        pytest.param(((REGION, "east"),), set(), id="a volume of a region"),
        pytest.param(((REGION, "west"),), {"east-a", "east-b", "region-only"}, id="a volume of another region"),
        pytest.param(((OLD_ZONE, "b"),), {"east-a", "region-only"}, id="the old label is met by the new one"),
        pytest.param(((ZONE, "a"), (REGION, "west")), {"east-a", "east-b", "region-only"}, id="both must match"),
        pytest.param(((ZONE, "a__"),), set(), id="a zone that cannot be read"),
    ],
)
def test_zones_and_regions_are_compared_where_nodes_have_any(labels: Labels, want: set[str]) -> None:
    assert refused_for(*labels) == want


def test_a_claim_that_is_not_bound_limits_nothing_here() -> None:
    assert refused(NAME, *NODES, POD, claims=(PersistentVolumeClaim("default", "data"),)) == set()


def test_a_claim_of_another_namespace_is_another_claim() -> None:
    claims = (PersistentVolumeClaim("other", "data", "disk"),)
    assert refused(NAME, *NODES, POD, claims=claims, volumes=(PersistentVolume("disk", ((ZONE, "a"),)),)) == set()


class ZoneCase(NamedTuple):
    """Labels of a bound volume and of a node."""

    volume: dict[str, str]
    node: dict[str, str]
    want_usable: bool


ZONES = {
    "same zone": ZoneCase({ZONE: "a"}, {ZONE: "a"}, True),
    "another zone": ZoneCase({ZONE: "a"}, {ZONE: "b"}, False),
    "one of several zones": ZoneCase({ZONE: "a__b"}, {ZONE: "b"}, True),
    "none of several zones": ZoneCase({ZONE: "a__b"}, {ZONE: "c"}, False),
    "the joined text is no zone": ZoneCase({ZONE: "a__b"}, {ZONE: "a__b"}, False),
    "spaces around zones": ZoneCase({ZONE: "a__ b "}, {ZONE: "b"}, True),
    "an empty part makes the label void": ZoneCase({ZONE: "a__"}, {ZONE: "b"}, True),
    "an empty zone makes the label void": ZoneCase({ZONE: ""}, {ZONE: "b"}, True),
    "zone and region must both match": ZoneCase({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
    "a node without zones takes any volume": ZoneCase({ZONE: "a"}, {"disk": "ssd"}, True),
    "a node with a region but no zone": ZoneCase({ZONE: "a"}, {REGION: "r"}, False),
    "a node with more labels than the volume": ZoneCase({REGION: "r"}, {REGION: "r", ZONE: "a"}, True),
    "beta label on both": ZoneCase({OLD_ZONE: "a"}, {OLD_ZONE: "a"}, True),
    "beta label of the volume, stable label of the node": ZoneCase({OLD_ZONE: "a"}, {ZONE: "a"}, True),
    "beta region of the volume, stable region of the node": ZoneCase({OLD_REGION: "r"}, {REGION: "s"}, False),
    "the beta label of the node comes first": ZoneCase({OLD_ZONE: "a"}, {OLD_ZONE: "b", ZONE: "a"}, False),
    "stable label of the volume, beta label of the node": ZoneCase({ZONE: "a"}, {OLD_ZONE: "a"}, False),
    "a volume without zones": ZoneCase({"disk": "ssd"}, {ZONE: "a"}, True),
}


@pytest.mark.parametrize("case", ZONES.values(), ids=ZONES)
def test_volume_zones_follow_upstream(case: ZoneCase) -> None:
    node = make_node("n")
    for key, value in case.node.items():
        node = node.label(key, value)
    volume = PersistentVolume("disk", tuple(sorted(case.volume.items())))
    found = refused(NAME, node, POD, claims=(CLAIM,), volumes=(volume,))
    assert found == (set() if case.want_usable else {"n"})


def test_volume_zones_of_all_volumes_must_match() -> None:
    volumes = (PersistentVolume("1", ((ZONE, "a__b"),)), PersistentVolume("2", ((ZONE, "b"),)))
    claims = (PersistentVolumeClaim("default", "x", "1"), PersistentVolumeClaim("default", "y", "2"))
    pod = make_pod("new").spec(volumes=tuple(Volume("persistentVolumeClaim", name) for name in "xy"))
    assert refused(NAME, *NODES[:2], pod, claims=claims, volumes=volumes) == {"east-a"}
