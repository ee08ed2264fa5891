"""Random cases for the oracle, each a pure function of its two numbers: `make_case(seed, index)`.

A case is a pod to place and the objects around it, as `kubectl get -o json` prints them and as the API server would
accept them. Upstream's program and our own code both answer it; the proof compares the answers.
"""

from random import Random
from typing import Any

from longshore_lab.oracle.case_coverage import FEATURES, coverage
from longshore_lab.oracle.case_draw import pick
from longshore_lab.oracle.case_nodes import leave_one_open, make_nodes
from longshore_lab.oracle.case_plan import make_plan
from longshore_lab.oracle.case_pods import make_existing_pods, make_namespaces, make_pod_to_place
from longshore_lab.oracle.case_report import describe
from longshore_lab.oracle.case_vocabulary import NAMESPACES

__all__ = ["FEATURES", "coverage", "describe", "make_case"]


def make_case(seed: int, index: int) -> dict[str, Any]:
    """Make the case with this number of the series with this seed.

    Args:
        seed: Names a series of cases.
        index: Place in the series; also the case's "id" on the wire.

    Returns:
        A case of the oracle's wire format: id, pod, items. Parts of it may be shared: do not change it in place.
    """
    # A text seed is hashed by SHA-512: the same on every machine, and neighbours have nothing in common.
    draw = Random(f"{seed}:{index}").random
    plan = make_plan(draw)
    namespace = pick(draw, NAMESPACES)
    nodes = make_nodes(draw, plan)
    if plan.kind == "one-open":
        leave_one_open(draw, plan, nodes)
    node_names = [node["metadata"]["name"] for node in nodes]
    pods = make_existing_pods(draw, plan, namespace, node_names)
    pod, related = make_pod_to_place(draw, plan, namespace, node_names)
    return {"id": index, "pod": pod, "items": [*nodes, *pods, *make_namespaces(draw), *related]}
