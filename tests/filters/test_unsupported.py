"""Tests of the table of what is not modelled: every row is recognised in a dump, with field, plugin and reason."""

import json
from typing import Any

import pytest

from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.objects import Objects
from longshore.core.words.pod import (
    AffinityTerm,
    NodePreference,
    NodeSelectorTerm,
    PodSpec,
    SpreadConstraint,
    WeightedAffinityTerm,
)
from longshore.filters.unsupported import (
    CLAIM_REASONS,
    FIELDS,
    VOLUME_SOURCES,
    Unsupported,
    find_unreadable,
    find_unsupported,
)
from longshore.kube.dump import read_dump

CLAIM_FIELD = "spec.volumes[*].persistentVolumeClaim"
SPREAD = "spec.topologySpreadConstraints"


def found(spec: dict[str, Any], *others: dict[str, Any]) -> tuple[Unsupported, ...]:
    """Read a dump with one pod of this spec and the other objects; say what the pod needs that is not modelled."""
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}, "spec": spec}
    snapshot = read_dump(json.dumps({"kind": "List", "items": [pod, *others]}).encode()).snapshot
    return find_unsupported(snapshot.pods[0], Objects.of(snapshot))


def claim(**spec: Any) -> dict[str, Any]:
    """Write a claim; one that names a volume is bound to it for good."""
    notes = {"pv.kubernetes.io/bind-completed": "yes"} if "volumeName" in spec else {}
    meta = {"name": "data", "namespace": "shop", "annotations": notes}
    return {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec, "status": {"phase": "Bound"}}


def with_meta(item: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], **changes}}


def volume(**spec: Any) -> dict[str, Any]:
    return {"kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": spec}


CLAIMING = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}

SPECS = {
    "spec.resourceClaims": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]},
    "spec.schedulingGroup": {"schedulingGroup": {"podGroupName": "gang"}},
    "spec.hostUsers": {"hostUsers": False, "hostNetwork": True},
    "spec.containers[*].restartPolicyRules": {
        "containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]
    },
}
CLAIMS = {
    "missing": (),
    "lost": ({**claim(volumeName="disk"), "status": {"phase": "Lost"}}, volume()),
    "deleted": (with_meta(claim(volumeName="disk"), deletionTimestamp="2026-01-01T00:00:00Z"), volume()),
    "unbound": (claim(),),
    "half-bound": (with_meta(claim(volumeName="disk"), annotations={}), volume()),
    "missing-volume": (claim(volumeName="disk"),),
    "csi": (claim(volumeName="disk"), volume(csi={"driver": "disk.example.com", "volumeHandle": "1"})),
    "once-per-pod": (claim(volumeName="disk", accessModes=["ReadWriteOncePod"]), volume()),
}


def test_the_tests_know_every_row() -> None:
    assert SPECS.keys() == FIELDS.keys()
    assert CLAIMS.keys() == CLAIM_REASONS.keys()


@pytest.mark.parametrize("field", FIELDS)
def test_fields_that_no_filter_reads_are_recognised(field: str) -> None:
    row = FIELDS[field]
    assert row.field == field
    assert row.plugin and row.reason
    assert found(SPECS[field]) == (row,)


@pytest.mark.parametrize("source", VOLUME_SOURCES)
def test_volume_sources_that_no_filter_reads_are_recognised(source: str) -> None:
    plugin, reason = VOLUME_SOURCES[source]
    assert plugin and reason
    want = Unsupported(f"spec.volumes[*].{source}", plugin, reason)
    assert found({"volumes": [{"name": "v", source: {"readOnly": True}}]}) == (want,)


@pytest.mark.parametrize("kind", CLAIM_REASONS)
def test_claims_that_no_filter_understands_are_recognised_by_name(kind: str) -> None:
    plugin, reason = CLAIM_REASONS[kind]
    assert found(CLAIMING, *CLAIMS[kind]) == (Unsupported(CLAIM_FIELD, plugin, f"`data`: {reason}"),)


def test_plugins_are_those_that_upstream_has() -> None:
    plugins = {row.plugin for row in FIELDS.values()} | {row[0] for row in (VOLUME_SOURCES | CLAIM_REASONS).values()}
    known = {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "DynamicResources", "NodeDeclaredFeatures"}
    assert plugins == known | {"GangScheduling"}


IN_TREE = "awsElasticBlockStore azureDisk azureFile cinder gcePersistentDisk portworxVolume vsphereVolume"


@pytest.mark.parametrize("source", IN_TREE.split(" "))
def test_volumes_that_upstream_hands_to_a_driver_count_as_the_drivers(source: str) -> None:
    bound = (claim(volumeName="disk"), volume(**{source: {"volumeID": "1"}}))
    assert [row.plugin for row in found(CLAIMING, *bound)] == ["NodeVolumeLimits"]


@pytest.mark.parametrize(
    ("spec", "others"),
    [
        pytest.param({}, (), id="a plain pod"),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {}}]}, (), id="plain volumes"
        ),
        pytest.param(CLAIMING, (claim(volumeName="disk", accessModes=["ReadWriteOnce"]), volume()), id="a bound claim"),
        pytest.param({"hostUsers": False}, (), id="users of its own"),
    ],
)
def test_what_is_modelled_is_not_in_the_table(spec: dict[str, Any], others: tuple[dict[str, Any], ...]) -> None:
    assert found(spec, *others) == ()


def test_a_claim_of_another_namespace_is_missing() -> None:
    other = with_meta(claim(volumeName="disk"), namespace="bank")
    assert found(CLAIMING, other, volume())[0].reason == "`data`: the claim does not exist"


def test_all_needs_of_a_pod_are_listed() -> None:
    spec = {**SPECS["spec.resourceClaims"], "volumes": [{"name": "a", "rbd": {}}, *CLAIMING["volumes"]]}
    assert [row.plugin for row in found(spec)] == ["DynamicResources", "VolumeRestrictions", "VolumeBinding"]


BAD = Requirement("app", "NotIn", ("no label!",))
BAD_TERM = AffinityTerm("zone", Selector((Requirement("app", "Exists"), BAD)))
BAD_PLACES = {
    "preferred node affinity": (
        PodSpec(node_preferences=(NodePreference(1, NodeSelectorTerm((BAD,))),)),
        "spec.affinity.nodeAffinity",
    ),
    "a preferred field": (
        PodSpec(node_preferences=(NodePreference(1, NodeSelectorTerm((), (Requirement("metadata.name", "Exists"),))),)),
        "spec.affinity.nodeAffinity",
    ),
    "affinity": (PodSpec(affinity=(BAD_TERM,)), "spec.affinity.podAffinity"),
    "anti-affinity": (PodSpec(anti_affinity=(BAD_TERM,)), "spec.affinity.podAntiAffinity"),
    "a wish to be near": (
        PodSpec(preferred_affinity=(WeightedAffinityTerm(5, BAD_TERM),)),
        "spec.affinity.podAffinity",
    ),
    "a wish to be away": (
        PodSpec(preferred_anti_affinity=(WeightedAffinityTerm(0, BAD_TERM),)),
        "spec.affinity.podAntiAffinity",
    ),
    "a namespace selector": (
        PodSpec(affinity=(AffinityTerm("zone", None, (), Selector((BAD,))),)),
        "spec.affinity.podAffinity",
    ),
    "a hard spread": (PodSpec(spread=(SpreadConstraint(1, "zone", True, Selector((BAD,))),)), SPREAD),
    "a soft spread": (PodSpec(spread=(SpreadConstraint(1, "zone", False, Selector((BAD,))),)), SPREAD),
}


@pytest.mark.parametrize(("spec", "want_field"), BAD_PLACES.values(), ids=BAD_PLACES)
def test_constraints_that_upstream_cannot_read_are_named(spec: PodSpec, want_field: str) -> None:
    (reason,) = find_unreadable(spec)
    assert reason.startswith(f"{want_field} has a requirement that upstream cannot read: `")


def test_the_requirement_that_cannot_be_read_is_shown() -> None:
    assert find_unreadable(PodSpec(affinity=(BAD_TERM,)))[0].endswith(": `app NotIn no label!`")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(PodSpec(), id="no constraints"),
        pytest.param(PodSpec(node_affinity=(NodeSelectorTerm((BAD,)),)), id="required: it matches nothing"),
        pytest.param(PodSpec(node_preferences=(NodePreference(0, NodeSelectorTerm((BAD,))),)), id="of no weight"),
        pytest.param(PodSpec(node_preferences=(NodePreference(1, NodeSelectorTerm()),)), id="an empty preference"),
        pytest.param(PodSpec(node_selector=(("app", "no label!"),)), id="a node selector, which is never parsed"),
        pytest.param(PodSpec(affinity=(AffinityTerm("zone", None),)), id="no selector"),
    ],
)
def test_what_upstream_reads_or_passes_over_is_not_named(spec: PodSpec) -> None:
    assert find_unreadable(spec) == ()
