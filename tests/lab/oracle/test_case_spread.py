"""Spreading: constraints that validation accepts, Services and controllers that can be read."""

ACTIONS = {"DoNotSchedule", "ScheduleAnyway"}
POLICIES = {None, "Honor", "Ignore"}


def _constraints(pods):
    return ((pod, constraint) for pod in pods for constraint in pod["spec"].get("topologySpreadConstraints", ()))


def test_constraints_are_unique_by_key_and_action(pods):
    for pod in pods:
        constraints = pod["spec"].get("topologySpreadConstraints", ())
        pairs = {(constraint["topologyKey"], constraint["whenUnsatisfiable"]) for constraint in constraints}
        assert len(pairs) == len(constraints)


def test_constraints_have_valid_fields(pods):
    for _, constraint in _constraints(pods):
        assert constraint["whenUnsatisfiable"] in ACTIONS
        assert constraint["maxSkew"] >= 1
        assert constraint.get("minDomains", 1) >= 1
        assert "minDomains" not in constraint or constraint["whenUnsatisfiable"] == "DoNotSchedule"
        assert constraint.get("nodeAffinityPolicy") in POLICIES
        assert constraint.get("nodeTaintsPolicy") in POLICIES


def test_label_keys_come_with_a_selector_that_does_not_speak_of_them(pods):
    for pod, constraint in _constraints(pods):
        for key in constraint.get("matchLabelKeys", ()):
            selector = constraint["labelSelector"]
            assert key not in selector.get("matchLabels", {})
            merged = {"key": key, "operator": "In", "values": [pod["metadata"].get("labels", {}).get(key)]}
            same = [entry for entry in selector.get("matchExpressions", ()) if entry["key"] == key]
            assert same in ([], [merged])


def test_controllers_have_selectors(items_of_kind):
    for kind in ("ReplicaSet", "StatefulSet"):
        for item in items_of_kind(kind):
            assert item["apiVersion"] == "apps/v1"
            assert item["spec"]["selector"].keys() <= {"matchLabels", "matchExpressions"}
            assert all(item["spec"]["selector"].values())
    assert all(item["spec"]["selector"] for item in items_of_kind("ReplicationController"))


def test_services_have_a_full_selector_or_none(items_of_kind):
    assert all(item["spec"].get("selector", True) for item in items_of_kind("Service"))
