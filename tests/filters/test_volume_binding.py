"""Bound volumes that can be used from some nodes only."""

import numpy as np

from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodeSelectorTerm, Volume
from longshore.core.words.snapshot import PersistentVolume, PersistentVolumeClaim, Snapshot
from longshore.filters import feasible
from longshore.filters import judge as judge_filters
from support.builders import make_node, make_pod
from support.compiling import encode

ZONE_A = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))
HAS_DISK = NodeSelectorTerm((Requirement("disk", "Exists"),))
NODES = (
    make_node("a").label("zone", "a").build(),
    make_node("b").label("zone", "b").build(),
    make_node("a-disk").label("zone", "a").label("disk", "ssd").build(),
)


def judge(*affinities: tuple[NodeSelectorTerm, ...] | None) -> tuple[list[str], dict[str, str]]:
    volumes = tuple(PersistentVolume(f"v{i}", (), affinity) for i, affinity in enumerate(affinities))
    claims = tuple(PersistentVolumeClaim("default", f"c{i}", f"v{i}") for i in range(len(affinities)))
    pod = make_pod("p").spec(volumes=tuple(Volume("persistentVolumeClaim", claim.name) for claim in claims)).build()
    encoded = encode(Snapshot(nodes=NODES, pods=(pod,), volumes=volumes, claims=claims))
    mask = feasible(encoded.arrays, np.asarray(0), ("VolumeBinding",))
    found = judge_filters(encoded, 0, ("VolumeBinding",))[1]
    return [NODES[i].name for i in np.flatnonzero(mask)], {node: r.reasons[0] for node, r in found.items()}


def test_volume_binding_allows_only_nodes_that_the_volume_allows():
    allowed, reasons = judge((ZONE_A,))
    assert allowed == ["a", "a-disk"]
    assert reasons == {"b": "node(s) didn't match PersistentVolume's node affinity"}


def test_volume_binding_takes_terms_as_alternatives():
    assert judge((ZONE_A, HAS_DISK))[0] == ["a", "a-disk"]


def test_volume_binding_asks_every_volume():
    assert judge((ZONE_A,), (HAS_DISK,))[0] == ["a-disk"]


def test_volume_binding_leaves_volumes_without_affinity_alone():
    assert judge(None)[0] == ["a", "b", "a-disk"]


def test_volume_binding_matches_nothing_without_terms():
    assert judge(())[0] == []


def test_volume_binding_passes_over_conditions_on_the_nodes_name():
    by_name = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("elsewhere",)),))
    assert judge((by_name,))[0] == ["a", "b", "a-disk"]
