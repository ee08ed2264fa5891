"""Volumes: every claim resolves, and claim and volume agree that they are bound."""

import msgspec

from longshore.core.words.objects import Objects
from longshore.filters.unsupported import find_unsupported
from longshore.kube import convert, wire
from longshore.kube.dump import read_objects
from longshore_lab.oracle.cases import describe


def test_every_claim_resolves_to_a_bound_volume(cases):
    num_claims = 0
    for case in cases:
        by_name = {
            (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item for item in case["items"]
        }
        namespace = case["pod"]["metadata"]["namespace"]
        for volume in case["pod"]["spec"].get("volumes", ()):
            if "persistentVolumeClaim" not in volume:
                continue
            num_claims += 1
            claim = by_name["PersistentVolumeClaim", namespace, volume["persistentVolumeClaim"]["claimName"]]
            assert claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes", describe(case)
            held = by_name["PersistentVolume", None, claim["spec"]["volumeName"]]
            reference = held["spec"]["claimRef"]
            assert (reference["namespace"], reference["name"]) == (namespace, claim["metadata"]["name"])
            assert reference["uid"] == claim["metadata"]["uid"]
            class_name = claim["spec"]["storageClassName"]
            assert class_name == held["spec"]["storageClassName"]
            assert not class_name or ("StorageClass", None, class_name) in by_name
            assert "csi" not in held["spec"]
    assert num_claims > 200


def test_volume_names_are_unique_in_a_pod(pods):
    for pod in pods:
        names = [volume["name"] for volume in pod["spec"].get("volumes", ())]
        assert len(names) == len(set(names))


def test_no_claim_is_for_one_pod_alone(items_of_kind):
    # ReadWriteOncePod would bring VolumeRestrictions in.
    for item in items_of_kind("PersistentVolumeClaim"):
        assert set(item["spec"]["accessModes"]) <= {"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"}


def test_nothing_that_a_case_asks_for_is_left_out_of_the_filters(cases):
    for case in cases:
        items = [msgspec.Raw(msgspec.json.encode(item)) for item in case["items"]]
        source = msgspec.json.decode(msgspec.json.encode(case["pod"]), type=wire.Pod)
        pod = convert.pod(source, is_incoming=True)
        assert find_unsupported(pod, Objects.of(read_objects(items).snapshot)) == (), describe(case)
