"""The coverage of a case: names it by hand-made examples."""

from longshore_lab.oracle.case_coverage import FEATURES, coverage

CONTAINER = {"name": "c0", "image": "busybox"}
NODE = {
    "kind": "Node",
    "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a", "topology.kubernetes.io/zone": ""}},
    "spec": {"taints": [{"key": "spot", "effect": "PreferNoSchedule"}], "unschedulable": True},
    "status": {"allocatable": {"cpu": "500m", "memory": "1e9", "pods": "2"}},
}


def _case(spec, *items):
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"schedulerName": "default-scheduler", **spec}}
    return {"id": 0, "pod": pod, "items": [NODE, *items]}


def test_features_are_unique():
    assert len(set(FEATURES)) == len(FEATURES)


def test_coverage_names_what_a_node_has():
    names = coverage(_case({"containers": [CONTAINER]}))
    assert {
        "node: empty zone", "node: no region", "node: cpu in milli", "node: memory with exponent", "node: few pods",
        "node: taint PreferNoSchedule", "node: taint without value", "node: unschedulable without taint",
        "pod: no requests", "pod: no labels", "cluster: one node", "cluster: no pods",
    } <= names  # fmt: skip


def test_coverage_names_what_a_pod_asks():
    terms = [{"topologyKey": "absent.example.com/key", "namespaceSelector": {}}]
    spec = {
        "containers": [{**CONTAINER, "resources": {"requests": {"cpu": "0"}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists"}],
        "nodeName": "elsewhere",
    }
    names = coverage(_case(spec))
    assert {
        "pod: cpu only", "pod: explicit zero request", "pod anti-affinity: required", "pod affinity: no selector",
        "pod affinity: by an absent key", "pod affinity: empty namespaceSelector", "toleration: no key and no effect",
        "pod: nodeName of a missing node",
    } <= names  # fmt: skip
    assert "pod affinity: required" not in names
