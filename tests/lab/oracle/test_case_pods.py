"""Pods: phases, tolerations and namespaces as the API server would accept them."""

from longshore_lab.oracle.case_vocabulary import NAMESPACES

EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}


def test_bound_pods_are_not_finished(items_of_kind):
    assert {pod["status"]["phase"] for pod in items_of_kind("Pod")} == {"Running", "Pending"}


def test_pods_live_in_known_namespaces_with_unique_uids(cases):
    for case in cases:
        pods = [case["pod"], *(item for item in case["items"] if item["kind"] == "Pod")]
        assert {pod["metadata"]["namespace"] for pod in pods} <= set(NAMESPACES)
        assert len({pod["metadata"]["uid"] for pod in pods}) == len(pods)


def test_tolerations_are_valid(pods):
    for pod in pods:
        for toleration in pod["spec"].get("tolerations", ()):
            # Gt and Lt are behind a gate that is off by default in 1.36.
            assert toleration.get("operator") in ("Equal", "Exists", None)
            assert toleration.get("effect", "NoExecute") in EFFECTS
            assert "key" in toleration or toleration["operator"] == "Exists"
            assert "value" not in toleration or toleration.get("operator") != "Exists"
            assert "tolerationSeconds" not in toleration or toleration["effect"] == "NoExecute"


def test_namespace_objects_carry_their_name_as_a_label(items_of_kind):
    for item in items_of_kind("Namespace"):
        assert item["metadata"]["labels"]["kubernetes.io/metadata.name"] == item["metadata"]["name"]
