"""Tests of VolumeZone: nodes in the zone and region of the pod's bound volumes."""

import pytest

from filters.judging import judge, refused
from longshore.core.words.labels import Labels
from longshore.core.words.pod import Volume
from longshore.core.words.snapshot import PersistentVolume, PersistentVolumeClaim
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NAME = "VolumeZone"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
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
