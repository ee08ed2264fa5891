"""Every policy goes where its plain rule goes, pod by pod, with and without departures."""

import numpy as np
import pytest

from longshore.core.words.errors import LongshoreError
from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.churn import with_departures
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.runs import SeededRuns, play, play_all
from studies.openb.tables.small_trace import TRACE

POLICIES = (
    "random",
    "dot-product",
    "gpu-clustering",
    "gpu-packing",
    "gpu-best-fit",
    "fgd",
    "fgd-u",
    "pwr",
    "pwr500-fgd500",
    "pwr200-fgd800",
    "round-robin",
)


def assert_played_plainly(batch: SeededRuns, name: str) -> int:
    """Compare every decision; return how many pods found no node."""
    policy = find_policy(name)
    played = play(batch, policy)
    for run, outcome in zip(batch.runs, played.outcomes, strict=True):
        node, devices = play_plainly(batch.problem, run, policy)
        np.testing.assert_array_equal(outcome.node, node)
        np.testing.assert_array_equal(outcome.on_device, devices > 0)
        np.testing.assert_array_equal(outcome.milli, np.where(run.is_arrival, 1, -1) * devices.sum(axis=1))
    return played.num_without_node


@pytest.mark.parametrize("name", POLICIES)
def test_policies_go_where_their_plain_rules_go(small_batch: SeededRuns, name: str) -> None:
    assert assert_played_plainly(small_batch, name) > 0  # else no refusal was checked


@pytest.mark.parametrize("name", ["random", "gpu-clustering", "fgd"])
def test_pods_that_leave_make_room(small_batch: SeededRuns, name: str) -> None:
    problem = small_batch.problem
    case = with_departures(problem.nodes, {TRACE: problem.pods}, (42, 43), (95.0,))[0]
    assert_played_plainly(case.batch, name)


def test_rows_come_in_the_order_of_what_was_asked_for(small_batch: SeededRuns) -> None:
    policies = [find_policy(name) for name in ("gpu-packing", "gpu-best-fit")]
    done: list[int] = []
    rows = play_all(
        [small_batch, small_batch], policies, lambda batch, policy, _: (batch.trace, policy.name), done.append
    )
    assert rows == [(TRACE, "gpu-packing"), (TRACE, "gpu-best-fit")] * 2
    assert sorted(done) == [1, 2, 3, 4]


def test_a_failed_run_ends_the_table(small_batch: SeededRuns) -> None:
    def fail(*_: object) -> None:
        raise LongshoreError("no")

    with pytest.raises(LongshoreError, match="no"):
        play_all([small_batch], [find_policy("gpu-packing")], fail)
