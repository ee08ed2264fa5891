"""One run over time."""

import json

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.evaluation.series import Series, moving_average, simulate


@pytest.fixture(scope="module")
def series() -> Series:
    return simulate("test1", "first-fit", "ee", parameters={"pods": 5, "cycles": "1"}, nodes=3, seed=2)


def test_a_run_step_by_step(series: Series) -> None:
    assert (series.workload, series.policy, series.objective, series.seed) == ("test1", "first-fit", "ee", 2)
    assert series.kinds.count("create") == 5 and series.kinds.count("delete") == 5 and "idle" not in series.kinds
    assert (np.diff(series.times) >= 0).all() and series.start == 0.0 and series.end == 40.0
    assert series.node_names == ("worker-0", "worker-1", "worker-2")
    assert series.pods_per_node.shape == (len(series.times), 3)
    assert series.pods_per_node[:, 0].max() == 5 and series.pods_per_node[:, 1:].max() == 0
    assert (series.pods_per_node.sum(axis=1) == series.running).all()
    assert series.is_placed.sum() == 5 and np.isnan(series.latency_ms[~series.is_placed]).all()
    assert series.metrics["reward"] == series.reward.sum() == 30.0
    assert series.metrics["active_nodes"] == pytest.approx(35.0 / 40.0)


def test_success_in_blocks(series: Series) -> None:
    assert series.success_per_block().shape == (1,)
    assert series.success_per_block(2).tolist() == [
        series.is_success[series.is_placed][part].mean() for part in (slice(0, 2), slice(2, 4), slice(4, 5))
    ]


def test_json_has_plain_values(series: Series) -> None:
    document = json.loads(json.dumps(series.to_json(), allow_nan=False))
    assert document["schema"] == 1 and document["nodes"] == list(series.node_names)
    lengths = {len(document[name]) for name in ("times", "kinds", "pods_per_node", "latency_ms", "watts", "waiting")}
    assert lengths == {len(series.times)}
    assert document["latency_ms"][-1] is None


def test_moving_average() -> None:
    values = np.array([np.nan, 1.0, 3.0, np.nan, 5.0])
    np.testing.assert_allclose(moving_average(values, 2), [np.nan, 1.0, 2.0, 3.0, 5.0])
    np.testing.assert_allclose(moving_average(values, 9), [np.nan, 1.0, 2.0, 2.0, 3.0])


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean `first-fit`"):
        simulate("test1", "frist-fit")
    with pytest.raises(InputError, match="did you mean `test1`"):
        simulate("tset1", "first-fit")
    with pytest.raises(InputError, match="filter set"):
        simulate("test1", "first-fit", filters="upstraem")


def test_decisions_name_pod_and_node(series: Series) -> None:
    decisions = series.to_json()["decisions"]
    assert len(decisions) == 5
    assert {decision["node"] for decision in decisions} == {"worker-0"}
    assert len({decision["pod"] for decision in decisions}) == 5
    assert [decision["time"] for decision in decisions] == series.times[series.is_placed].tolist()


def test_a_decision_that_leaves_a_pod_waiting_has_no_node() -> None:
    run = simulate("memory-pods", "first-fit", "ee", parameters={"pods": 20, "load": 3.0})
    assert any(decision.node is None for decision in run.decisions)
    assert sum(decision.node is not None for decision in run.decisions) == run.is_placed.sum()
