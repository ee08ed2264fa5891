"""Nodes: what the API server would accept, and the one node that stays open."""

import re
from random import Random

from longshore_lab.oracle.case_nodes import leave_one_open, make_nodes
from longshore_lab.oracle.case_plan import make_plan

EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti|e[0-9]+)?")


def test_taints_are_spelled_right_and_unique_by_key_and_effect(items_of_kind):
    for node in items_of_kind("Node"):
        taints = node["spec"].get("taints", [])
        assert {taint["effect"] for taint in taints} <= EFFECTS
        assert len({(taint["key"], taint["effect"]) for taint in taints}) == len(taints)


def test_labels_are_valid(items_of_kind):
    for node in items_of_kind("Node"):
        assert all(LABEL_VALUE.fullmatch(value) for value in node["metadata"].get("labels", {}).values())


def test_quantities_are_valid(items_of_kind):
    for node in items_of_kind("Node"):
        assert all(QUANTITY.fullmatch(text) for text in node["status"].get("allocatable", {}).values())


def test_an_image_name_has_one_size_everywhere(items_of_kind):
    sizes = {}
    for node in items_of_kind("Node"):
        names = [name for image in node["status"].get("images", ()) for name in image.get("names", ())]
        assert len(names) == len(set(names))
        for image in node["status"].get("images", ()):
            for name in image.get("names", ()):
                assert sizes.setdefault(name, image["sizeBytes"]) == image["sizeBytes"]


def test_leave_one_open_closes_all_others():
    for index in range(200):
        draw = Random(f"open:{index}").random
        plan = make_plan(draw)
        nodes = make_nodes(draw, plan)
        leave_one_open(draw, plan, nodes)
        is_open = [
            not {taint["effect"] for taint in node["spec"].get("taints", ())} & {"NoSchedule", "NoExecute"}
            and "unschedulable" not in node["spec"]
            and node["status"]["allocatable"].get("pods", "0") != "0"
            for node in nodes
        ]
        assert sum(is_open) == 1
