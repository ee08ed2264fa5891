"""The list of faults: each says what is expected, and the names are those that metrics and events have."""

import re

import pytest

from longshore_lab import build
from longshore_lab.proof.plugin_fault_list import FAULTS, UNDISTURBED

GO = build.SOURCE.parent / "scheduler"


def go_text(*folders: str) -> str:
    paths = [path for folder in folders for path in (GO / folder).glob("*.go") if not path.name.endswith("_test.go")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("name", [name for name in FAULTS if name != UNDISTURBED])
def test_a_fault_does_something(name: str) -> None:
    fault = FAULTS[name]
    assert fault.damage is not None or fault.failpoint or fault.arguments or fault.annotations


def test_every_reason_is_one_of_the_plugins() -> None:
    known = set(re.findall(r'Reason += "([a-z-]+)"', go_text("longshore", "inference")))
    used = {reason for fault in FAULTS.values() for reason in fault.expected.reasons}
    assert {"deadline", "circuit-open", "nan"} <= known
    assert used <= known


def test_every_event_is_one_of_the_plugins() -> None:
    known = set(re.findall(r'Event\w+ = "(\w+)"', go_text("longshore")))
    used = {fault.expected.event for fault in FAULTS.values()} - {""}
    assert used == known


def test_every_metric_is_one_of_the_plugins() -> None:
    known = set(re.findall(r'"(longshore_\w+)"', go_text("longshore")))
    used = {metric.partition("{")[0] for fault in FAULTS.values() for metric in fault.expected.metrics}
    assert used <= known
