"""Volumes of random pods: claims that are bound to volumes with zone labels, and sources that never matter.

Claims, volumes and classes are consistent and fully bound: what is left to decide is VolumeZone's, by the volumes'
labels, and VolumeBinding's, by their node affinity.
"""

from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_vocabulary import BETA_REGION, BETA_ZONE, IMAGE_REFERENCES, REGION, REGIONS, ZONE, ZONES

BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
ZONE_SETS = ("zone-a__zone-b", "zone-b__zone-c", "zone-a__zone-b__zone-c", "zone-a__zone-a")
# A set with an empty member cannot be read, and upstream then leaves the label out of account.
UNREADABLE_ZONE_SETS = ("", "zone-a____zone-b")
ZONE_VALUES = (*ZONES, *ZONES, *ZONE_SETS, *ZONE_SETS, *UNREADABLE_ZONE_SETS, "zone-d")
REGION_VALUES = (*REGIONS, "region-1__region-2")
NO_CLASS = ""


def add_volumes(draw: Draw, plan: CasePlan, pod: Json) -> list[Json]:
    """Give the pod volumes; return the claims, volumes and classes behind them."""
    items: list[Json] = []
    volumes: list[Json] = []
    if "volumes" in plan.topics:
        namespace = pod["metadata"]["namespace"]
        class_name = "standard" if draw() < 0.85 else NO_CLASS
        for position in range(pick(draw, (1, 1, 1, 2, 3))):
            claim_name = f"data-{position}"
            volumes.append({"name": claim_name, "persistentVolumeClaim": {"claimName": claim_name}})
            labels = _draw_volume_labels(draw) if draw() < 0.1 + 1.4 * plan.required_share else {}
            items.extend(_draw_bound_claim(draw, namespace, claim_name, class_name, labels))
        if class_name:
            items.append(_draw_class(draw, class_name))
    if draw() < 0.1:
        volumes.append({"name": "scratch", "emptyDir": {}})
    if draw() < 0.06:
        volumes.append({"name": "settings", "configMap": {"name": "settings", "defaultMode": 420}})
    if "images" in plan.topics and draw() < 0.15:
        reference = {"reference": pick(draw, IMAGE_REFERENCES), "pullPolicy": "IfNotPresent"}
        volumes.append({"name": "artifact", "image": reference})
    if volumes:
        pod["spec"]["volumes"] = volumes
    return items


def _draw_bound_claim(
    draw: Draw, namespace: str, claim_name: str, class_name: str, labels: dict[str, str]
) -> tuple[Json, Json]:
    modes = [pick(draw, ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"))]
    claim_metadata = {"name": claim_name, "namespace": namespace, "uid": f"{claim_name}-uid"}
    volume_metadata: Json = {"name": f"pv-{claim_name}", "uid": f"pv-{claim_name}-uid"}
    if labels:
        volume_metadata["labels"] = labels
    volume_spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": modes,
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim_metadata},
        "storageClassName": class_name,
        "persistentVolumeReclaimPolicy": "Retain",
    }
    if draw() < 0.7:
        volume_spec["nfs"] = {"server": "nfs.example.com", "path": "/data"}
    else:
        volume_spec["hostPath"] = {"path": "/data"}
    if draw() < 0.35:
        volume_spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": _draw_volume_terms(draw)}}
    claim_spec = {
        "accessModes": modes,
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": class_name,
        "volumeName": volume_metadata["name"],
    }
    return (
        _make_bound("PersistentVolumeClaim", {**claim_metadata, "annotations": dict(BOUND)}, claim_spec),
        _make_bound("PersistentVolume", volume_metadata, volume_spec),
    )


def _draw_volume_terms(draw: Draw) -> list[Json]:
    """Terms as drivers and administrators write them: a zone, a host, a disk; now and then a name or nothing at all."""
    choices: tuple[Json, ...] = (
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-a", "zone-b"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["zone-a"]}]},
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
        {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]},
        {"matchExpressions": [{"key": "cores", "operator": "Lt", "values": ["many"]}]},
        {"matchExpressions": [{"key": "rack", "operator": "DoesNotExist"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]},
        {},
    )
    return [pick(draw, choices) for _ in range(pick(draw, (1, 1, 2)))]


def _make_bound(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}


def _draw_volume_labels(draw: Draw) -> dict[str, str]:
    labels = {}
    shape = draw()
    if shape < 0.6:
        labels[ZONE] = pick(draw, ZONE_VALUES)
    elif shape < 0.85:
        labels[BETA_ZONE] = pick(draw, ZONE_VALUES)
    if draw() < 0.25:
        labels[REGION if draw() < 0.6 else BETA_REGION] = pick(draw, REGION_VALUES)
    if draw() < 0.2:
        labels["disk"] = "ssd"
    return labels


def _draw_class(draw: Draw, name: str) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "example.com/provisioner",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": ("Immediate", "WaitForFirstConsumer")[pick_count(draw, 0, 1)],
    }
