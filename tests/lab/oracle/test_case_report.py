"""The text of a case: short, complete, and in the order in which a reader looks."""

from longshore_lab.oracle.case_report import describe
from longshore_lab.oracle.cases import make_case


def test_describe_names_every_object_once():
    case = make_case(1, 5)
    lines = describe(case).splitlines()
    assert lines[0].startswith("case 5: ")
    assert lines[1].startswith(f"place {case['pod']['metadata']['namespace']}/pod-to-place ")
    assert len(lines) == 2 + len(case["items"])


def test_describe_shows_pods_below_their_node():
    case = make_case(1, 5)
    node_name = next(
        item["spec"]["nodeName"] for item in case["items"] if item["kind"] == "Pod" and "nodeName" in item["spec"]
    )
    lines = describe(case).splitlines()
    position = next(index for index, line in enumerate(lines) if line.startswith(f"node {node_name} "))
    assert lines[position + 1].startswith("    pod ")
