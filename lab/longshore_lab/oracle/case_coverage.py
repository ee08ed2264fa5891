"""Which features a case uses: read from the finished case, so that it cannot agree with the generator by mistake."""

from collections.abc import Iterator, Mapping
from typing import Any

from longshore_lab.oracle.case_vocabulary import (
    BETA_REGION,
    BETA_ZONE,
    HOSTNAME,
    HUGE_PAGES,
    MEBIBYTE,
    REGION,
    UNSCHEDULABLE_TAINT,
    ZONE,
)

FEATURES = (
    "cluster: one node", "cluster: nine nodes or more", "cluster: equal nodes", "cluster: no pods",
    "cluster: more than ten pods", "cluster: namespace object missing",
    "node: cpu in milli", "node: cpu with point", "node: cpu with exponent", "node: memory Ki", "node: memory Mi",
    "node: memory Gi", "node: memory plain", "node: memory with exponent", "node: memory decimal suffix",
    "node: zero cpu or memory", "node: cpu or memory missing", "node: few pods", "node: pods missing or zero",
    "node: ephemeral-storage", "node: extended resource", "node: huge pages", "node: no status",
    "node: no labels", "node: no hostname", "node: shared hostname", "node: no zone", "node: empty zone",
    "node: no region", "node: beta zone", "node: whole number label", "node: label that is no int64",
    "node: taint NoSchedule", "node: taint PreferNoSchedule", "node: taint NoExecute", "node: taint with value",
    "node: taint without value", "node: several taints", "node: unschedulable with taint",
    "node: unschedulable without taint", "node: unschedulable taint alone",
    "node: images", "node: image with several names", "node: image above the limit", "node: image without names",
    "existing: on a missing node", "existing: without a node", "existing: terminating", "existing: pending",
    "existing: resized", "existing: resize infeasible", "existing: host port", "existing: no requests",
    "existing: extended resource", "existing: overhead", "existing: pod-level resources", "existing: sidecar",
    "existing: other namespace", "existing: no labels", "existing: required affinity",
    "existing: required anti-affinity", "existing: preferred affinity", "existing: preferred anti-affinity",
    "existing: namespaceSelector", "existing: affinity that cannot be read",
    "pod: no requests", "pod: cpu only", "pod: memory only", "pod: explicit zero request", "pod: fraction of a byte",
    "pod: limits equal requests", "pod: limits above requests", "pod: several containers", "pod: init container",
    "pod: sidecar", "pod: overhead", "pod: pod-level resources", "pod: pod-level one resource",
    "pod: pod-level huge pages", "pod: ephemeral-storage", "pod: extended resource", "pod: zero extended resource",
    "pod: huge pages", "pod: no labels", "pod: priority", "pod: other scheduler name", "pod: annotations",
    "pod: nodeName", "pod: nodeName of a missing node",
    "toleration: Equal", "toleration: no operator", "toleration: Exists", "toleration: no key", "toleration: no effect",
    "toleration: no key and no effect", "toleration: seconds", "toleration: unschedulable",
    "nodeSelector", "node affinity: required", "node affinity: several terms", "node affinity: empty term",
    "node affinity: only empty terms", "node affinity: In", "node affinity: NotIn", "node affinity: Exists",
    "node affinity: DoesNotExist", "node affinity: Gt", "node affinity: Lt", "node affinity: bound that is no number",
    "node affinity: bound that is no label", "node affinity: value that is no label",
    "node affinity: matchFields In", "node affinity: matchFields NotIn", "node affinity: every term names nodes",
    "node affinity: conflicting names", "node affinity: preferred", "node affinity: empty preference",
    "pod affinity: required", "pod affinity: preferred", "pod anti-affinity: required", "pod anti-affinity: preferred",
    "pod affinity: several required terms", "pod affinity: no selector", "pod affinity: empty selector",
    "pod affinity: matchLabels", "pod affinity: In", "pod affinity: NotIn", "pod affinity: Exists",
    "pod affinity: DoesNotExist", "pod affinity: namespaces", "pod affinity: namespaceSelector",
    "pod affinity: empty namespaceSelector", "pod affinity: negative namespaceSelector", "pod affinity: matchLabelKeys",
    "pod affinity: mismatchLabelKeys", "pod affinity: by hostname", "pod affinity: by zone",
    "pod affinity: by another key", "pod affinity: by an absent key", "pod affinity: first pod of its own kind",
    "spread: DoNotSchedule", "spread: ScheduleAnyway", "spread: both actions", "spread: several constraints",
    "spread: maxSkew above 1", "spread: minDomains", "spread: no selector", "spread: empty selector",
    "spread: matchLabelKeys", "spread: matchLabelKeys not merged", "spread: matchLabelKeys absent in the pod",
    "spread: nodeAffinityPolicy Honor", "spread: nodeAffinityPolicy Ignore", "spread: nodeTaintsPolicy Honor",
    "spread: nodeTaintsPolicy Ignore", "spread: by hostname", "spread: by zone", "spread: by an absent key",
    "default spread: Service", "default spread: several Services", "default spread: Service without selector",
    "default spread: ReplicaSet", "default spread: StatefulSet", "default spread: ReplicationController",
    "default spread: owner is no controller", "default spread: owner of another group",
    "default spread: matchExpressions",
    "port: TCP", "port: UDP", "port: SCTP", "port: no address", "port: 0.0.0.0", "port: 127.0.0.1",
    "port: another address", "port: hostNetwork", "port: on a sidecar", "port: on an init container",
    "port: without hostPort",
    "volume: claim", "volume: several claims", "volume: one zone", "volume: set of zones", "volume: unreadable zones",
    "volume: beta zone", "volume: region", "volume: no zone", "volume: beta zone on a node", "volume: no class",
    "volume: without claim", "volume: image",
    "image: needs :latest", "image: registry with port", "image: digest", "image: in an init container",
    "image: on no node", "image: on some nodes",
)  # fmt: skip
"""Every name that `coverage` can give."""

Found = Iterator[str]
Node = Mapping[str, Any]
Pod = Mapping[str, Any]
Spec = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def coverage(case: Mapping[str, Any]) -> set[str]:
    """Name the features, of those in FEATURES, that a case uses."""
    pod, items = case["pod"], case["items"]
    nodes = [item for item in items if item["kind"] == "Node"]
    pods = [item for item in items if item["kind"] == "Pod"]
    names: set[str] = set()
    names.update(_of_cluster(nodes, pods, items))
    for node in nodes:
        names.update(_of_allocatable(node), _of_node_labels(node), _of_taints(node), _of_node_images(node))
    node_names = {node["metadata"]["name"] for node in nodes}
    for existing in pods:
        names.update(_of_existing(existing, node_names, pod["metadata"]["namespace"]))
    names.update(_of_requests(pod["spec"]), _of_pod_fields(pod, node_names), _of_tolerations(pod["spec"]))
    names.update(_of_node_affinity(pod["spec"]), _of_pod_affinity(pod, pods), _of_spread(pod))
    names.update(_of_default_spread(pod, items), _of_ports(pod["spec"]), _of_volumes(pod["spec"], nodes, items))
    names.update(_of_images(pod["spec"], nodes))
    return names


def _of_cluster(nodes: list[Node], pods: list[Pod], items: list[Any]) -> Found:
    if len(nodes) == 1:
        yield "cluster: one node"
    if len(nodes) >= 9:
        yield "cluster: nine nodes or more"
    sizes = [node["status"].get("allocatable") for node in nodes]
    if len(nodes) > 2 and all(size == sizes[0] for size in sizes):
        yield "cluster: equal nodes"
    if not pods:
        yield "cluster: no pods"
    if len(pods) > 10:
        yield "cluster: more than ten pods"
    if sum(item["kind"] == "Namespace" for item in items) < 4:
        yield "cluster: namespace object missing"


def _of_allocatable(node: Node) -> Found:
    allocatable = node["status"].get("allocatable")
    if allocatable is None:
        yield "node: no status"
        return
    cpu, memory, pods = allocatable.get("cpu", ""), allocatable.get("memory", ""), allocatable.get("pods", "0")
    for text, mark, name in (
        (cpu, "m", "cpu in milli"), (cpu, ".", "cpu with point"), (cpu, "e", "cpu with exponent"),
        (memory, "Ki", "memory Ki"), (memory, "Mi", "memory Mi"), (memory, "Gi", "memory Gi"),
        (memory, "e", "memory with exponent"),
    ):  # fmt: skip
        if mark in text:
            yield f"node: {name}"
    if len(memory) > 1 and memory.isdigit():
        yield "node: memory plain"
    if memory.endswith("G"):
        yield "node: memory decimal suffix"
    if "0" in (cpu, memory):
        yield "node: zero cpu or memory"
    if not (cpu and memory):
        yield "node: cpu or memory missing"
    if pods != "110":
        yield "node: pods missing or zero" if pods == "0" else "node: few pods"
    if "ephemeral-storage" in allocatable:
        yield "node: ephemeral-storage"
    if any("/" in name for name in allocatable):
        yield "node: extended resource"
    if HUGE_PAGES in allocatable:
        yield "node: huge pages"


def _of_node_labels(node: Node) -> Found:
    labels = node["metadata"].get("labels")
    if labels is None:
        yield "node: no labels"
        return
    if HOSTNAME not in labels:
        yield "node: no hostname"
    elif labels[HOSTNAME] != node["metadata"]["name"]:
        yield "node: shared hostname"
    if ZONE not in labels:
        yield "node: no zone"
    elif not labels[ZONE]:
        yield "node: empty zone"
    if REGION not in labels:
        yield "node: no region"
    if BETA_ZONE in labels:
        yield "node: beta zone"
    if "cores" in labels:
        cores = labels["cores"]
        is_number = cores.isdigit() and int(cores) < 2**63
        yield "node: whole number label" if is_number else "node: label that is no int64"


def _of_taints(node: Node) -> Found:
    taints = node["spec"].get("taints", [])
    for taint in taints:
        yield f"node: taint {taint['effect']}"
        yield "node: taint with value" if "value" in taint else "node: taint without value"
    if len(taints) > 1:
        yield "node: several taints"
    is_tainted = any(taint["key"] == UNSCHEDULABLE_TAINT for taint in taints)
    if "unschedulable" in node["spec"]:
        yield "node: unschedulable with taint" if is_tainted else "node: unschedulable without taint"
    elif is_tainted:
        yield "node: unschedulable taint alone"


def _of_node_images(node: Node) -> Found:
    for image in node["status"].get("images", ()):
        yield "node: images"
        if len(image.get("names", ())) > 1:
            yield "node: image with several names"
        if image["sizeBytes"] > 1000 * MEBIBYTE:
            yield "node: image above the limit"
        if "names" not in image:
            yield "node: image without names"


def _of_existing(pod: Pod, node_names: set[str], namespace: str) -> Found:
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    if "nodeName" not in spec:
        yield "existing: without a node"
    elif spec["nodeName"] not in node_names:
        yield "existing: on a missing node"
    facts = {
        "terminating": "deletionTimestamp" in metadata,
        "pending": status["phase"] == "Pending",
        "resized": "containerStatuses" in status,
        "resize infeasible": any(entry["reason"] == "Infeasible" for entry in status.get("conditions", ())),
        "overhead": "overhead" in spec,
        "pod-level resources": "resources" in spec,
        "other namespace": metadata["namespace"] != namespace,
        "no labels": "labels" not in metadata,
        "no requests": not any(requests for _, requests in _requests(spec)),
        "sidecar": any("restartPolicy" in container for container in spec.get("initContainers", ())),
        "extended resource": any("/" in name for _, requests in _requests(spec) for name in requests),
        "host port": any("hostPort" in port for _, port in _ports(spec)),
    }
    yield from (f"existing: {name}" for name, is_so in facts.items() if is_so)
    for side, action, term in _pod_terms(spec):
        yield f"existing: {action} {'affinity' if side == 'podAffinity' else 'anti-affinity'}"
        if "namespaceSelector" in term:
            yield "existing: namespaceSelector"
        if any("!" in value for value in _selected_values(term)):
            yield "existing: affinity that cannot be read"


def _selected_values(term: Mapping[str, Any]) -> Iterator[str]:
    for selector in (term.get("labelSelector", {}), term.get("namespaceSelector", {})):
        for requirement in selector.get("matchExpressions", ()):
            yield from requirement.get("values", ())


def _requests(spec: Spec) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        yield container, container.get("resources", {}).get("requests", {})


def _of_requests(spec: Spec) -> Found:
    everything = list(_requests(spec))
    if not any(requests for _, requests in everything):
        yield "pod: no requests"
    for container, requests in everything:
        limits = container.get("resources", {}).get("limits", {})
        if set(requests) == {"cpu"}:
            yield "pod: cpu only"
        if set(requests) == {"memory"}:
            yield "pod: memory only"
        if requests.get("cpu") == "0" or requests.get("memory") == "0":
            yield "pod: explicit zero request"
        if requests.get("memory", "").endswith("m"):
            yield "pod: fraction of a byte"
        if "cpu" in limits:
            yield f"pod: limits {'equal' if limits['cpu'] == requests['cpu'] else 'above'} requests"
        for name, quantity in requests.items():
            if "/" in name:
                yield "pod: zero extended resource" if quantity == "0" else "pod: extended resource"
            if name == HUGE_PAGES:
                yield "pod: huge pages"
            if name == "ephemeral-storage":
                yield "pod: ephemeral-storage"
    for container in spec.get("initContainers", ()):
        yield "pod: sidecar" if "restartPolicy" in container else "pod: init container"
    if len(spec["containers"]) > 1:
        yield "pod: several containers"
    if "overhead" in spec:
        yield "pod: overhead"
    if "resources" in spec:
        yield "pod: pod-level resources"
        if len(spec["resources"]["requests"]) == 1:
            yield "pod: pod-level one resource"
        if HUGE_PAGES in spec["resources"]["requests"]:
            yield "pod: pod-level huge pages"


def _of_pod_fields(pod: Pod, node_names: set[str]) -> Found:
    metadata, spec = pod["metadata"], pod["spec"]
    if "labels" not in metadata:
        yield "pod: no labels"
    if "annotations" in metadata:
        yield "pod: annotations"
    if "priority" in spec:
        yield "pod: priority"
    if spec["schedulerName"] != "default-scheduler":
        yield "pod: other scheduler name"
    if "nodeName" in spec:
        yield "pod: nodeName" if spec["nodeName"] in node_names else "pod: nodeName of a missing node"
    if "nodeSelector" in spec:
        yield "nodeSelector"


def _of_tolerations(spec: Spec) -> Found:
    for toleration in spec.get("tolerations", ()):
        yield f"toleration: {toleration.get('operator', 'no operator')}"
        if "key" not in toleration:
            yield "toleration: no key"
            if "effect" not in toleration:
                yield "toleration: no key and no effect"
        if "effect" not in toleration:
            yield "toleration: no effect"
        if "tolerationSeconds" in toleration:
            yield "toleration: seconds"
        if toleration.get("key") == UNSCHEDULABLE_TAINT:
            yield "toleration: unschedulable"


def _of_node_affinity(spec: Spec) -> Found:
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])
    preferences = [entry["preference"] for entry in affinity.get(PREFERRED, ())]
    if terms:
        yield "node affinity: required"
        if len(terms) > 1:
            yield "node affinity: several terms"
        if {} in terms:
            yield "node affinity: empty term"
        if not any(terms):
            yield "node affinity: only empty terms"
        named = [[field["values"][0] for field in _fields(term) if field["operator"] == "In"] for term in terms]
        if all(named):
            yield "node affinity: every term names nodes"
            if all(len(set(names)) > 1 for names in named):
                yield "node affinity: conflicting names"
    if preferences:
        yield "node affinity: preferred"
        if {} in preferences:
            yield "node affinity: empty preference"
    for term in (*terms, *preferences):
        for requirement in term.get("matchExpressions", ()):
            yield f"node affinity: {requirement['operator']}"
            values = requirement.get("values", [])
            if values == ["many"]:
                yield "node affinity: bound that is no number"
            if values and values[0].startswith("-"):
                yield "node affinity: bound that is no label"
            if any("!" in value for value in values):
                yield "node affinity: value that is no label"
        for field in _fields(term):
            yield f"node affinity: matchFields {field['operator']}"


def _fields(term: Mapping[str, Any]) -> list[Any]:
    return list(term.get("matchFields", ()))


def _pod_terms(spec: Spec) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = spec.get("affinity", {}).get(side, {})
        for term in terms.get(REQUIRED, ()):
            yield side, "required", term
        for entry in terms.get(PREFERRED, ()):
            yield side, "preferred", entry["podAffinityTerm"]


def _of_pod_affinity(pod: Pod, pods: list[Pod]) -> Found:
    required = 0
    for side, action, term in _pod_terms(pod["spec"]):
        yield f"pod {'affinity' if side == 'podAffinity' else 'anti-affinity'}: {action}"
        required += side == "podAffinity" and action == "required"
        yield from _of_selector("pod affinity", term)
        yield from _of_topology_key("pod affinity", term["topologyKey"])
        yield from (
            f"pod affinity: {key}" for key in ("namespaces", "matchLabelKeys", "mismatchLabelKeys") if key in term
        )
        if "namespaceSelector" in term:
            yield "pod affinity: namespaceSelector"
            if not term["namespaceSelector"]:
                yield "pod affinity: empty namespaceSelector"
            for requirement in term["namespaceSelector"].get("matchExpressions", ()):
                if requirement["operator"] in ("NotIn", "DoesNotExist"):
                    yield "pod affinity: negative namespaceSelector"
        if side == "podAffinity" and action == "required" and _is_first_of_its_kind(term, pod, pods):
            yield "pod affinity: first pod of its own kind"
    if required > 1:
        yield "pod affinity: several required terms"


def _is_first_of_its_kind(term: Mapping[str, Any], pod: Pod, pods: list[Pod]) -> bool:
    selector = term.get("labelSelector", {})
    wanted = selector.get("matchLabels", {})
    if not wanted or "matchExpressions" in selector or not term.keys().isdisjoint(("namespaces", "namespaceSelector")):
        return False

    def is_match(other: Pod) -> bool:
        return bool(wanted.items() <= other["metadata"].get("labels", {}).items())

    namespace = pod["metadata"]["namespace"]
    return is_match(pod) and not any(is_match(other) for other in pods if other["metadata"]["namespace"] == namespace)


def _of_selector(prefix: str, owner: Mapping[str, Any]) -> Found:
    selector = owner.get("labelSelector")
    if selector is None:
        yield f"{prefix}: no selector"
        return
    if not selector:
        yield f"{prefix}: empty selector"
    if prefix == "pod affinity":
        if "matchLabels" in selector:
            yield "pod affinity: matchLabels"
        yield from (f"pod affinity: {requirement['operator']}" for requirement in selector.get("matchExpressions", ()))


def _of_topology_key(prefix: str, key: str) -> Found:
    if key in (HOSTNAME, ZONE):
        yield f"{prefix}: by {'hostname' if key == HOSTNAME else 'zone'}"
    elif key.startswith("absent"):
        yield f"{prefix}: by an absent key"
    elif prefix == "pod affinity":
        yield "pod affinity: by another key"


def _of_spread(pod: Pod) -> Found:
    constraints = pod["spec"].get("topologySpreadConstraints", [])
    labels = pod["metadata"].get("labels", {})
    actions = {constraint["whenUnsatisfiable"] for constraint in constraints}
    yield from (f"spread: {action}" for action in actions)
    if len(actions) > 1:
        yield "spread: both actions"
    if len(constraints) > 1:
        yield "spread: several constraints"
    for constraint in constraints:
        yield from _of_selector("spread", constraint)
        yield from _of_topology_key("spread", constraint["topologyKey"])
        if constraint["maxSkew"] > 1:
            yield "spread: maxSkew above 1"
        if "minDomains" in constraint:
            yield "spread: minDomains"
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if policy in constraint:
                yield f"spread: {policy} {constraint[policy]}"
        if "matchLabelKeys" in constraint:
            yield "spread: matchLabelKeys"
            keys = set(constraint["matchLabelKeys"])
            if not keys <= labels.keys():
                yield "spread: matchLabelKeys absent in the pod"
            merged = {entry["key"] for entry in constraint["labelSelector"].get("matchExpressions", ())}
            if keys & labels.keys() - merged:
                yield "spread: matchLabelKeys not merged"


def _of_default_spread(pod: Pod, items: list[Any]) -> Found:
    services = [item for item in items if item["kind"] == "Service"]
    if services:
        yield "default spread: Service"
    if len(services) > 1:
        yield "default spread: several Services"
    if any("selector" not in service["spec"] for service in services):
        yield "default spread: Service without selector"
    for item in items:
        if item["kind"] in ("ReplicaSet", "StatefulSet", "ReplicationController"):
            yield f"default spread: {item['kind']}"
            if "matchExpressions" in item["spec"]["selector"]:
                yield "default spread: matchExpressions"
    for reference in pod["metadata"].get("ownerReferences", ()):
        if not reference.get("controller"):
            yield "default spread: owner is no controller"
        if reference["apiVersion"] == "example.com/v1":
            yield "default spread: owner of another group"


def _ports(spec: Spec) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        for port in container.get("ports", ()):
            yield container, port


def _of_ports(spec: Spec) -> Found:
    for container, port in _ports(spec):
        if "hostPort" not in port:
            yield "port: without hostPort"
            continue
        yield f"port: {port['protocol']}"
        address = port.get("hostIP", "no address")
        yield f"port: {address if address in ('no address', '0.0.0.0', '127.0.0.1') else 'another address'}"
        if container not in spec["containers"]:
            yield "port: on a sidecar" if "restartPolicy" in container else "port: on an init container"
    if "hostNetwork" in spec and any(_ports(spec)):
        yield "port: hostNetwork"


def _of_volumes(spec: Spec, nodes: list[Node], items: list[Any]) -> Found:
    volumes = spec.get("volumes", [])
    claims = [volume for volume in volumes if "persistentVolumeClaim" in volume]
    if claims:
        yield "volume: claim"
        if len(claims) > 1:
            yield "volume: several claims"
        if any(BETA_ZONE in node["metadata"].get("labels", {}) for node in nodes):
            yield "volume: beta zone on a node"
    if len(claims) < len(volumes):
        yield "volume: without claim"
    if any("image" in volume for volume in volumes):
        yield "volume: image"
    for item in items:
        if item["kind"] != "PersistentVolume":
            continue
        labels = item["metadata"].get("labels", {})
        if not item["spec"]["storageClassName"]:
            yield "volume: no class"
        if BETA_ZONE in labels:
            yield "volume: beta zone"
        if REGION in labels or BETA_REGION in labels:
            yield "volume: region"
        zones = labels.get(ZONE, labels.get(BETA_ZONE))
        if zones is None:
            yield "volume: no zone"
        elif "" in zones.split("__"):
            yield "volume: unreadable zones"
        else:
            yield "volume: set of zones" if "__" in zones else "volume: one zone"


def _of_images(spec: Spec, nodes: list[Node]) -> Found:
    if not any("images" in node["status"] for node in nodes):
        return
    counts = [
        sum(name in entry.get("names", ()) for entry in node["status"].get("images", ()))
        for node in nodes
        for name in (_normalised(container["image"]) for container in spec["containers"])
    ]
    yield "image: on some nodes" if any(counts) else "image: on no node"
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        image = container["image"]
        if image != _normalised(image):
            yield "image: needs :latest"
        if ":5000/" in image:
            yield "image: registry with port"
        if "@sha256:" in image:
            yield "image: digest"
        if container not in spec["containers"]:
            yield "image: in an init container"


def _normalised(image: str) -> str:
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"
