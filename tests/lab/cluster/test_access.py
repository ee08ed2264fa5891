"""Tests of the rules of access, the file `deploy/rbac.yaml` first of all: least privilege is a list to be read here."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.core.words.errors import ComponentMissingError, UnknownNameError
from longshore_lab.cluster import access

CHANGES = {"create", "update", "patch", "delete", "deletecollection"}


def rules() -> list[dict[str, Any]]:
    roles = [content for _, content in access.longshore_rules() if content["kind"] in ("ClusterRole", "Role")]
    return [{**rule, "role": role["metadata"]["name"]} for role in roles for rule in role["rules"]]


def test_what_may_be_changed_is_this_and_nothing_else() -> None:
    changes = {
        (resource, verb, rule["role"])
        for rule in rules()
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb in CHANGES
    }
    assert changes == {
        ("pods/binding", "create", "longshore-scheduler"),
        ("pods/status", "patch", "longshore-scheduler"),
        ("events", "create", "longshore-scheduler"),
        ("events", "patch", "longshore-scheduler"),
        ("leases", "create", "longshore-scheduler-lease"),
        ("leases", "update", "longshore-scheduler-lease"),
        ("pods", "delete", "longshore-scheduler-preemption"),
    }


def test_the_plugin_has_the_rights_that_the_chart_gives_it_under_names_of_its_own() -> None:
    flat = [content for content in yaml.safe_load_all((access.DEPLOY / "longshore.yaml").read_text()) if content]
    granted = [content for content in flat if content["kind"] in access._PATHS]
    ours = [content for _, content in access.plugin_rules()]
    assert [_without_names(content) for content in ours] == [_without_names(content) for content in granted]
    names, taken = (
        {(content["kind"], content["metadata"]["name"]) for _, content in found()}
        for found in (access.plugin_rules, access.longshore_rules)
    )
    assert names & taken == {("Namespace", "longshore-system")}


def _without_names(content: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    return content["kind"], [{**rule, "resourceNames": None} for rule in content.get("rules", ())]


def test_an_account_that_the_chart_does_not_know_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="service account"):
        access.rules_of("nobody")


def test_no_rule_speaks_of_everything_or_of_secrets() -> None:
    for rule in rules():
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        assert not {"secrets", "configmaps", "serviceaccounts/token"} & set(rule["resources"])


def test_only_its_own_lease_can_be_read_and_changed() -> None:
    named = [rule for rule in rules() if "leases" in rule["resources"] and rule["verbs"] != ["create"]]
    assert [rule["resourceNames"] for rule in named] == [["longshore-scheduler"]]


def test_namespaced_objects_go_to_the_path_of_their_namespace() -> None:
    paths = {content["kind"]: path for path, content in access.longshore_rules()}
    assert paths["ServiceAccount"] == "/api/v1/namespaces/longshore-system/serviceaccounts"
    assert paths["RoleBinding"] == "/apis/rbac.authorization.k8s.io/v1/namespaces/longshore-system/rolebindings"
    assert paths["ClusterRole"] == "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def test_every_binding_binds_a_role_that_is_there() -> None:
    content = [content for _, content in access.longshore_rules()]
    roles = {(item["kind"], item["metadata"]["name"]) for item in content if item["kind"].endswith("Role")}
    bound = {(item["roleRef"]["kind"], item["roleRef"]["name"]) for item in content if "roleRef" in item}
    assert bound == roles


def test_kwok_changes_no_nodes_and_reads_no_secrets() -> None:
    role = next(content for _, content in access.cluster_rules() if content["kind"] == "ClusterRole")
    changeable = {resource for rule in role["rules"] for resource in rule["resources"] if CHANGES & set(rule["verbs"])}
    assert changeable == {"pods", "pods/status", "nodes/status", "events", "leases"}


def test_an_object_that_is_no_rule_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown kind `Secret`"):
        access.with_path({"kind": "Secret", "metadata": {"name": "x"}})


def test_without_the_clone_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(access, "DEPLOY", tmp_path)
    with pytest.raises(ComponentMissingError, match="a clone of the repository"):
        access.longshore_rules()


def test_the_file_is_plain_yaml_of_many_objects() -> None:
    text = (access.DEPLOY / "rbac.yaml").read_text()
    assert len([content for content in yaml.safe_load_all(text) if content]) == len(access.longshore_rules()) == 8
