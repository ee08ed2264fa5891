"""The table of resources."""

from longshore.kube.resources import CLAIMS, DISRUPTION_BUDGETS, PODS, REPLICA_SETS, RESOURCES


def test_resources_know_their_paths() -> None:
    assert PODS.path == "/api/v1/pods"
    assert CLAIMS.path == "/api/v1/persistentvolumeclaims"
    assert REPLICA_SETS.path == "/apis/apps/v1/replicasets"
    assert DISRUPTION_BUDGETS.path == "/apis/policy/v1/poddisruptionbudgets"


def test_resources_stand_once_in_the_table() -> None:
    assert len({resource.kind for resource in RESOURCES}) == len(RESOURCES)


def test_resources_have_metadata_with_versions() -> None:
    for resource in RESOURCES:
        assert resource.body().metadata.resource_version == ""
