"""Some faults of the kube-scheduler plugin on a real cluster, with fewer pods than `bench plugin-faults` has."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.plugin_process import PROGRAM
from longshore_lab.proof.plugin_fault_list import FAULTS
from longshore_lab.proof.plugin_faults import (
    Expected,
    PluginFaultResult,
    fallbacks_of,
    missing,
    plugin_fault_cluster,
    run_plugin_fault,
)

NUM_PODS = 200
CHOSEN = (
    "bundle on a disk with I/O errors",
    "bundle whose scores overflow",
    "from the start: bundle of an unknown feature",
    "ranking takes 25 ms of 20",
)


@pytest.fixture(scope="module")
def cluster(built_programs: None, require_component: Callable[[str, str, bool], None]) -> Iterator[LocalCluster]:
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())
    with plugin_fault_cluster() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
async def test_all_pods_are_bound_and_it_is_said_why(cluster: LocalCluster, name: str) -> None:
    result = await run_plugin_fault(cluster, name, FAULTS[name], NUM_PODS)
    assert result.misplaced == []
    assert (result.bound, result.bound_twice) == (NUM_PODS, 0)
    assert result.is_same_process
    assert result.missing == []
    assert result.is_well


WELL = PluginFaultResult("x", 10, 5, 10, 0, [], True, {"nan": 2, "circuit-open": 3}, 0.1, 3.0, 1.0, "", [])


@pytest.mark.parametrize(
    "change",
    [
        {"bound": 9},
        {"bound_twice": 1},
        {"misplaced": ["x"]},
        {"waiting": 0},
        {"is_same_process": False},
        {"failed_seconds": 1.2},
        {"missing": ["no event"]},
    ],
    ids=str,
)
def test_what_is_not_well(change: dict[str, object]) -> None:
    assert WELL.is_well
    assert not replace(WELL, **change).is_well


def test_failures_are_those_for_which_the_policy_was_asked() -> None:
    assert WELL.failures == 2


SERIES = {'longshore_fallback_total{reason="nan"}': 2.0, "longshore_model_update_failures_total": 1.0}


def test_fallbacks_are_read_by_their_reason() -> None:
    assert fallbacks_of(SERIES) == {"nan": 2}


@pytest.mark.parametrize(
    ("expected", "note", "count"),
    [
        (Expected(("longshore_model_update_failures_total",), frozenset({"nan"}), "E", "why"), "that is why", 0),
        (Expected(("longshore_readings_failures_total",), frozenset({"nan"}), "E", "why"), "that is why", 1),
        (Expected((), frozenset(), "E", "why"), "that is why", 1),
        (Expected((), frozenset({"nan"}), "E", "why"), "", 1),
        (Expected((), frozenset({"nan"}), "E", "why"), "something else", 1),
        (Expected((), frozenset({"nan"})), "", 0),
    ],
    ids=["all said", "no metric", "another reason", "no event", "another note", "no event wanted"],
)
def test_what_is_missing(expected: Expected, note: str, count: int) -> None:
    assert len(missing(expected, SERIES, note)) == count
