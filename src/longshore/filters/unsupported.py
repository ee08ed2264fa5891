"""What upstream decides and longshore does not model, as one table.

A pod that uses one of these is recognised and left Pending with the field's name: never placed wrongly.
"""

from collections.abc import Iterator
from typing import NamedTuple

from longshore.core.arrays.static import find_unparsable_in
from longshore.core.words.labels import Requirement, find_unparsable
from longshore.core.words.objects import Objects
from longshore.core.words.pod import AffinityTerm, Pod, PodSpec, Volume


class Unsupported(NamedTuple):
    """A need of a pod that no filter here understands."""

    field: str
    plugin: str
    """The upstream plugin that would decide it."""
    reason: str


FIELDS = {
    "spec.resourceClaims": Unsupported(
        "spec.resourceClaims", "DynamicResources", "dynamic resource claims are not modelled"
    ),
    "spec.schedulingGroup": Unsupported(
        "spec.schedulingGroup", "GangScheduling", "pods of a group are placed together, and here one by one"
    ),
    "spec.hostUsers": Unsupported(
        "spec.hostUsers", "NodeDeclaredFeatures", "user namespaces with host network need a feature that nodes declare"
    ),
    "spec.containers[*].restartPolicyRules": Unsupported(
        "spec.containers[*].restartPolicyRules",
        "NodeDeclaredFeatures",
        "restarting all containers needs a feature that nodes declare",
    ),
}
"""Fields of a pod, as `kube.convert` reports them."""

VOLUME_SOURCES = {
    "gcePersistentDisk": ("VolumeRestrictions", "two pods may not mount one disk"),
    "awsElasticBlockStore": ("VolumeRestrictions", "two pods may not mount one disk"),
    "rbd": ("VolumeRestrictions", "two pods may not mount one image"),
    "iscsi": ("VolumeRestrictions", "two pods may not mount one target"),
    **dict.fromkeys(
        ("csi", "azureDisk", "azureFile", "cinder", "portworxVolume", "vsphereVolume"),
        ("NodeVolumeLimits", "a node's driver limits how many volumes it attaches"),
    ),
    "ephemeral": ("VolumeBinding", "the claim is made and bound while the pod is placed"),
}
"""Volume sources that a plugin outside our filters judges."""

CLAIM_REASONS = {
    "missing": ("VolumeBinding", "the claim does not exist"),
    "lost": ("VolumeBinding", "the claim has lost its volume"),
    "deleted": ("VolumeBinding", "the claim is being deleted"),
    "unbound": ("VolumeBinding", "the claim is not bound to a volume yet"),
    "half-bound": ("VolumeBinding", "the claim names a volume, and its binding is not completed yet"),
    "missing-volume": ("VolumeBinding", "the claim's volume does not exist"),
    "csi": ("NodeVolumeLimits", "a driver attaches the claim's volume, and may limit how many it attaches to a node"),
    "once-per-pod": ("VolumeRestrictions", "the claim may be used by one pod only (ReadWriteOncePod)"),
}
"""What can be special about a claim."""


def find_unsupported(pod: Pod, objects: Objects) -> tuple[Unsupported, ...]:
    """List the pod's needs that are not modelled; empty = the filters' word is final."""
    found = [FIELDS[field] for field in pod.unmodelled]
    for volume in pod.spec.volumes:
        if volume.source in VOLUME_SOURCES:
            found.append(Unsupported(f"spec.volumes[*].{volume.source}", *VOLUME_SOURCES[volume.source]))
        elif volume.source == "persistentVolumeClaim":
            special = _special_claim(pod, volume, objects)
            if special is not None:
                plugin, reason = CLAIM_REASONS[special]
                found.append(Unsupported("spec.volumes[*].persistentVolumeClaim", plugin, f"`{volume.name}`: {reason}"))
    return tuple(found)


def _special_claim(pod: Pod, volume: Volume, objects: Objects) -> str | None:
    claim = objects.claims.get((pod.namespace, volume.name))
    if claim is None:
        return "missing"
    if claim.is_lost:
        return "lost"
    if claim.is_being_deleted:
        return "deleted"
    if not claim.volume_name:
        return "unbound"
    if claim.is_half_bound:
        return "half-bound"
    bound = objects.volumes.get(claim.volume_name)
    if bound is None:
        return "missing-volume"
    if bound.is_csi:
        return "csi"
    return "once-per-pod" if "ReadWriteOncePod" in claim.access_modes else None


def find_unreadable(spec: PodSpec) -> tuple[str, ...]:
    """List the constraints that upstream's own parser refuses; it does not place a pod that has one.

    Required node affinity is not among them: a term of it that cannot be read matches no node, and the others count.
    (Where a single node is feasible upstream asks for no preferences, and would place there.)
    """
    return tuple(
        f"{field} has a requirement that upstream cannot read: `{' '.join((at.key, at.operator, *at.values))}`"
        for field, at in _unparsable(spec)
        if at is not None
    )


def _unparsable(spec: PodSpec) -> Iterator[tuple[str, Requirement | None]]:
    for preference in spec.node_preferences or ():
        if preference.weight:  # upstream passes over a weight of 0, unread
            yield "spec.affinity.nodeAffinity", find_unparsable_in(preference.term)
    for field, required, preferred in (
        ("spec.affinity.podAffinity", spec.affinity, spec.preferred_affinity),
        ("spec.affinity.podAntiAffinity", spec.anti_affinity, spec.preferred_anti_affinity),
    ):
        for term in (*required, *(wish.term for wish in preferred)):
            yield field, _unparsable_in(term)
    for constraint in spec.spread:
        yield "spec.topologySpreadConstraints", find_unparsable((constraint.selector,))


def _unparsable_in(term: AffinityTerm) -> Requirement | None:
    return find_unparsable((term.selector, term.namespace_selector))
