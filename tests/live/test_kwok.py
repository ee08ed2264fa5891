"""The parts of node objects that KWOK needs."""

from longshore.live.kwok import KWOK_ANNOTATION, kwok_annotations, kwok_status


def test_annotations_are_the_pair_that_kwok_selects_by() -> None:
    ((key, value),) = kwok_annotations().items()
    assert f"{key}={value}" == KWOK_ANNOTATION


def test_status_is_that_of_a_ready_node_of_that_name() -> None:
    status = kwok_status("one")
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions.pop("Ready") == "True"
    assert set(conditions.values()) == {"False"}
    assert {"type": "Hostname", "address": "one"} in status["addresses"]
