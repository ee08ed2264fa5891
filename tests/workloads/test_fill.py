"""`fill`: pods come and stay on mixed machines until the load is met."""

from itertools import pairwise

import pytest

from longshore.core.words.errors import UnknownNameError
from longshore.core.words.resources import CPU, MEMORY
from longshore.core.words.trace import Create, Delete
from longshore.workloads.fill import Fill


def _share(trace):
    asked, have = {CPU: 0, MEMORY: 0}, {CPU: 0, MEMORY: 0}
    for event in trace.events:
        if isinstance(event, Create):
            for name, nanos in event.pod.spec.containers[0].requests:
                asked[name] += nanos
    for node in trace.nodes:
        for name, nanos in node.allocatable:
            if name in have:
                have[name] += nanos
    return max(asked[name] / have[name] for name in have)


def test_load_is_met():
    assert _share(Fill(nodes=32, load=0.5).trace(3)) == pytest.approx(0.5, abs=0.08)


def test_nothing_leaves_before_everything_has_come():
    kinds = [type(event) for event in Fill(cycles=2).trace(0).events]
    switches = [(a, b) for a, b in pairwise(kinds) if a is not b]
    assert switches == [(Create, Delete), (Delete, Create), (Create, Delete)]


def test_shapes_can_be_left_out():
    cpus = {dict(node.allocatable)[CPU] // 10**9 for node in Fill(nodes=40, shapes="small,large").trace(0).nodes}
    assert cpus == {8, 32}


def test_unknown_shape_is_refused():
    with pytest.raises(UnknownNameError, match="small"):
        Fill(shapes="smal")
