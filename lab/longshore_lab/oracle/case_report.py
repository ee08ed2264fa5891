"""A case as a few lines of text, for the report of a mismatch."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

DULL_METADATA = ("name", "namespace", "uid")
SHOWN_KINDS = ("Node", "Pod")


def describe(case: Mapping[str, Any]) -> str:
    """Write a case as text: the pod to place, each node with its pods below it, then all other objects."""
    return "\n".join(_lines(case))


def _lines(case: Mapping[str, Any]) -> Iterator[str]:
    items = case["items"]
    pods_by_node: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for item in items:
        if item["kind"] == "Pod":
            pods_by_node[item["spec"].get("nodeName", "")].append(item)
    nodes = [item for item in items if item["kind"] == "Node"]
    yield f"case {case['id']}: {len(nodes)} nodes, {sum(map(len, pods_by_node.values()))} pods"
    yield f"place {_name(case['pod'])} {_details(case['pod'])}"
    for node in nodes:
        yield f"node {_name(node)} {_details(node)}"
        for pod in pods_by_node.pop(node["metadata"]["name"], ()):
            yield f"    pod {_name(pod)} {_details(pod)}"
    for place, pods in pods_by_node.items():
        for pod in pods:
            yield f"pod on {place or 'no node'}: {_name(pod)} {_details(pod)}"
    for item in items:
        if item["kind"] not in SHOWN_KINDS:
            yield f"{item['kind']} {_name(item)} {_details(item)}"


def _name(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


def _details(item: Mapping[str, Any]) -> str:
    metadata = {key: value for key, value in item["metadata"].items() if key not in DULL_METADATA}
    parts = {"metadata": metadata, "spec": dict(item.get("spec", {})), "status": dict(item.get("status", {}))}
    # The scheduler never reads these two.
    parts["status"].pop("capacity", None)
    parts["status"].pop("phase", None)
    if item.get("apiVersion") == "v1" and "nodeName" in parts["spec"] and "schedulerName" not in parts["spec"]:
        # The line stands below its node.
        del parts["spec"]["nodeName"]
    return json.dumps({key: value for key, value in parts.items() if value}, separators=(",", ":"), sort_keys=True)
