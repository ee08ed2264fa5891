"""Who may do what in a local cluster beyond upstream's own rules: KWOK, the API server at kubelets, and longshore."""

from pathlib import Path
from typing import Any

import yaml

from longshore.core.words.errors import ComponentMissingError, UnknownNameError

LONGSHORE_ACCOUNT = "longshore-scheduler"
"""Of `longshore schedule`."""
PLUGIN_ACCOUNT = "longshore-plugin"
"""Of kube-scheduler with the plugin, in a release of its own: names differ from those of `longshore schedule`."""
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
_READ = ["get", "list", "watch"]
_KWOK_RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": _READ},
    {"apiGroups": [""], "resources": ["pods"], "verbs": [*_READ, "delete", "patch", "update"]},
    {"apiGroups": [""], "resources": ["nodes/status", "pods/status"], "verbs": ["patch", "update"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": [*_READ, "create", "patch", "update"]},
]
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/{{namespace}}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{{namespace}}/rolebindings",
}


def cluster_rules() -> list[tuple[str, dict[str, Any]]]:
    """Return the objects that the cluster's own parts need, each with the path of its collection."""
    role = {"kind": "ClusterRole", "metadata": {"name": "longshore:kwok"}, "rules": _KWOK_RULES}
    bindings = {"longshore:kwok": "longshore:kwok", "longshore:kubelet-client": "system:kubelet-api-admin"}
    objects = [role, *(_binding(user, role_name) for user, role_name in bindings.items())]
    return [with_path({"apiVersion": "rbac.authorization.k8s.io/v1", **content}) for content in objects]


def longshore_rules() -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of `deploy/rbac.yaml`, each with the path of its collection, in the order of the file."""
    return [with_path(content) for content in yaml.safe_load_all(_file("rbac.yaml")) if content]


def plugin_rules() -> list[tuple[str, dict[str, Any]]]:
    """Return what the chart grants kube-scheduler with the plugin, as `longshore_rules` does.

    It is that of `deploy/longshore.yaml`, as the chart renders it for a release with the name of the account.
    """
    text = _file("longshore.yaml").replace(LONGSHORE_ACCOUNT, PLUGIN_ACCOUNT)
    return [with_path(content) for content in yaml.safe_load_all(text) if content and content["kind"] in _PATHS]


def _file(name: str) -> str:
    path = DEPLOY / name
    if not path.is_file():
        raise ComponentMissingError(f"deploy/{name}", "a clone of the repository")
    return path.read_text(encoding="utf-8")


def rules_of(account: str) -> list[tuple[str, dict[str, Any]]]:
    """Return an account of longshore's and exactly what the chart grants it.

    Raises:
        UnknownNameError: there is no such account.
    """
    sources = {LONGSHORE_ACCOUNT: longshore_rules, PLUGIN_ACCOUNT: plugin_rules}
    if account not in sources:
        raise UnknownNameError("service account", account, sources)
    return sources[account]()


def with_path(content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return an object with the path of its collection.

    Raises:
        UnknownNameError: rules of access have no such kind.
    """
    kind = content["kind"]
    if kind not in _PATHS:
        raise UnknownNameError("kind", kind, _PATHS)
    return _PATHS[kind].format(namespace=content["metadata"].get("namespace", "default")), content


def _binding(user: str, role_name: str) -> dict[str, Any]:
    return {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role_name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
