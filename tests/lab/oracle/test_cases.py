"""The random cases: determinism, the validity rules that hold between objects, and the coverage of every feature."""

import hashlib
import json
import subprocess
import sys
from collections import Counter

from longshore_lab.oracle.cases import FEATURES, coverage, describe, make_case

OWNER_KINDS = ("ReplicaSet", "StatefulSet", "ReplicationController")
MINIMUM_PER_FEATURE = 6
KINDS = {
    "Node", "Pod", "Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet", "PersistentVolume",
    "PersistentVolumeClaim", "StorageClass",
}  # fmt: skip


def _digest(seed, indices):
    text = json.dumps([make_case(seed, index) for index in indices])
    return hashlib.sha256(text.encode()).hexdigest()


def test_make_case_gives_the_same_case_again():
    assert make_case(3, 17) == make_case(3, 17)


def test_make_case_differs_by_seed_and_by_index():
    texts = {json.dumps({**make_case(seed, index), "id": 0}) for seed in range(5) for index in range(20)}
    assert len(texts) == 100


def test_make_case_is_the_same_in_another_process():
    program = (
        "import hashlib, json; from longshore_lab.oracle.cases import make_case;"
        "print(hashlib.sha256(json.dumps([make_case(9, index) for index in range(50)]).encode()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert other.stdout.strip() == _digest(9, range(50))


def test_make_case_carries_its_index_and_known_kinds(cases):
    assert [case["id"] for case in cases] == list(range(len(cases)))
    assert {item["kind"] for case in cases for item in case["items"]} == KINDS
    assert all(1 <= sum(item["kind"] == "Node" for item in case["items"]) <= 12 for case in cases)


def test_names_are_unique_in_a_case(cases):
    for case in cases:
        names = [
            (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
            for item in (case["pod"], *case["items"])
        ]
        assert len(names) == len(set(names)), describe(case)


def test_every_controller_of_the_pod_is_there(cases):
    references = 0
    for case in cases:
        metadata = case["pod"]["metadata"]
        owners = {
            (item["kind"], item["metadata"]["name"])
            for item in case["items"]
            if item["kind"] in OWNER_KINDS and item["metadata"]["namespace"] == metadata["namespace"]
        }
        for reference in metadata.get("ownerReferences", ()):
            if reference["kind"] in OWNER_KINDS:
                references += 1
                assert (reference["kind"], reference["name"]) in owners, describe(case)
    assert references > 100


def test_no_pod_to_place_is_gated_or_finished(cases):
    for case in cases:
        pod = case["pod"]
        assert "schedulingGates" not in pod["spec"]
        assert "deletionTimestamp" not in pod["metadata"]
        assert pod["status"] == {"phase": "Pending"}


def test_every_feature_is_covered(cases):
    counts = Counter(name for case in cases for name in coverage(case))
    assert set(counts) <= set(FEATURES)
    rare = {name: counts[name] for name in FEATURES if counts[name] < MINIMUM_PER_FEATURE}
    assert not rare
