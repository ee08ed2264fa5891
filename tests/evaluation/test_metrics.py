"""Every metric by hand on one short run, and the table in the docs."""

from pathlib import Path

import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore.core.words.trace import Create, Trace
from longshore.evaluation.metrics import METRICS, make_runs, measure_all, render_table
from longshore.simulator.params import Kind, compile_trace
from longshore.simulator.rollout import Measured
from longshore.simulator.state import StepTaken
from support.builders import make_node, make_pod

DOCS = Path(__file__).parents[2] / "docs" / "concepts" / "metrics.md"

TRACE = Trace(
    tuple(make_node(name).build() for name in ("a", "b", "c")),
    tuple(Create(time, make_pod(f"p{time}").cpu(100).build()) for time in (10.0, 12.0, 14.0, 15.0)),
    end=20.0,
)


def row(*values: float, dtype: type = np.float64) -> Array:
    return np.array(values, dtype)[None, None]


def measured() -> Measured:
    """Four pods: on a; on b though a had room; nowhere; on a beyond the limit. Then a retry after the end."""
    outcome = StepTaken(
        kind=row(Kind.CREATE, Kind.CREATE, Kind.CREATE, Kind.CREATE, Kind.RETRY, Kind.IDLE, dtype=np.int32),
        time=row(10.0, 12.0, 14.0, 15.0, 25.0, 25.0),
        pod=row(0, 1, 2, 3, 2, 0, dtype=np.int32),
        node=row(0, 1, -1, 0, 1, -1, dtype=np.int32),
        is_decision=row(1, 1, 1, 1, 1, 0, dtype=bool),
        feasible=row(3, 3, 0, 3, 3, 0, dtype=np.int32),
    )
    return Measured(
        outcome=outcome,
        reward=row(1.0, 2.0, 0.0, 4.0, 8.0, 0.0),
        latency_ms=row(10.0, 20.0, np.nan, 60.0, 5.0, np.nan),
        is_beyond_limit=row(0, 0, 0, 1, 0, 0, dtype=bool),
        is_beyond_soft=row(0, 1, 0, 1, 0, 0, dtype=bool),
        switched_on=row(1, 1, 0, 0, 0, 0, dtype=bool),
        active_nodes=row(1, 2, 2, 2, 2, 2, dtype=np.int32),
        cpu_variance=row(0.0, 0.1, 0.1, 0.3, 0.9, 0.9),
        watts_idle_on=row(300.0, 310.0, 310.0, 330.0, 900.0, 900.0),
        watts_idle_off=row(100.0, 200.0, 200.0, 220.0, 900.0, 900.0),
        cost_per_hour=row(1.0, 3.0, 3.0, 3.0, 9.0, 9.0),
        running=row(1, 2, 2, 3, 4, 4, dtype=np.int32),
        waiting=row(0, 0, 1, 1, 0, 0, dtype=np.int32),
        pods_per_node=np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [2, 1, 0], [2, 2, 0], [2, 2, 0]], np.int32)[
            None, None
        ],
    )


def test_values_by_hand() -> None:
    runs = make_runs([compile_trace(TRACE)], measured())
    # Held for 2, 2, 1 and 5 seconds.
    want = {
        "reward": 7.0,
        "reward_per_placement": 7.0 / 3,
        "active_nodes": 1.8,
        "peak_nodes": 2.0,
        "cpu_variance": (0.1 * 3 + 0.3 * 5) / 10,
        "latency_ms": 30.0,
        "latency_p99_ms": 60.0,
        "hard_violations": 1.0,
        "hard_violation_share": 1 / 3,
        "late_after_change": 0.0,
        "watts": (300 * 2 + 310 * 3 + 330 * 5) / 10,
        "watts_idle_off": (100 * 2 + 200 * 3 + 220 * 5) / 10,
        "peak_watts_idle_off": 220.0,
        "kwh": (300 * 2 + 310 * 3 + 330 * 5) / 3.6e6,
        "kwh_idle_off": (100 * 2 + 200 * 3 + 220 * 5) / 3.6e6,
        "cost_per_hour": (1.0 * 2 + 3.0 * 8) / 10,
        "pending": 0.6,
        "unschedulable": 1.0,
        # The first pod is placed well; the second switches b on; the third waits; the fourth breaks its limit.
        "success_rate": 0.25,
        "placements": 3.0,
        "decisions": 4.0,
    }
    found = measure_all(runs)
    assert list(found) == list(METRICS) == list(want)
    assert {name: value.shape for name, value in found.items()} == dict.fromkeys(want, (1, 1))
    assert {name: float(value[0, 0]) for name, value in found.items()} == pytest.approx(want)


def test_switching_a_node_on_is_right_where_none_that_is_on_has_room() -> None:
    one = measured()
    tight = one._replace(outcome=one.outcome._replace(feasible=row(3, 2, 0, 3, 3, 0, dtype=np.int32)))
    found = METRICS["success_rate"].compute(make_runs([compile_trace(TRACE)], tight))
    assert found[0, 0] == 0.5


def test_runs_are_measured_each_for_itself() -> None:
    one = measured()
    several = Measured(StepTaken(*map(_repeated, one.outcome)), *(_repeated(leaf) for leaf in one[1:]))
    several.reward[1, 2] *= 2
    found = measure_all(make_runs([compile_trace(TRACE)] * 3, several))
    assert found["reward"].tolist() == [[7.0, 7.0, 7.0], [7.0, 7.0, 14.0]]
    assert found["watts"].shape == (2, 3)


def _repeated(leaf: Array) -> Array:
    return np.tile(leaf, (2, 3) + (1,) * (leaf.ndim - 2))


def test_what_is_not_defined_is_nan() -> None:
    one = measured()
    nowhere = one._replace(
        outcome=one.outcome._replace(node=np.full_like(one.outcome.node, -1)), latency_ms=one.latency_ms * np.nan
    )
    found = measure_all(make_runs([compile_trace(TRACE)], nowhere))
    undefined = {name for name, value in found.items() if np.isnan(value[0, 0])}
    assert undefined == {"reward_per_placement", "latency_ms", "latency_p99_ms", "hard_violation_share"}
    assert found["unschedulable"][0, 0] == 4.0 and found["success_rate"][0, 0] == 0.0


def test_a_trace_of_one_moment_is_measured_at_its_end() -> None:
    moment = Trace(TRACE.nodes, tuple(Create(10.0, event.pod) for event in TRACE.events[:2]))  # type: ignore[union-attr]
    one = measured()
    outcome = StepTaken(*(leaf[:, :, :2] for leaf in one.outcome))._replace(time=row(10.0, 10.0))
    short = Measured(outcome, *(leaf[:, :, :2] for leaf in one[1:]))
    found = measure_all(make_runs([compile_trace(moment)], short))
    assert found["active_nodes"][0, 0] == 2.0 and found["kwh"][0, 0] == 0.0


def test_the_docs_have_the_table() -> None:
    assert render_table() in DOCS.read_text(encoding="utf-8")


def test_first_placement_after_a_change_is_the_one_that_counts() -> None:
    kinds = row(Kind.LATENCY, Kind.CREATE, Kind.CREATE, Kind.LATENCY, Kind.CREATE, Kind.IDLE, dtype=np.int32)
    found = measured()
    outcome = found.outcome._replace(kind=kinds, time=row(10.0, 11.0, 12.0, 13.0, 14.0, 14.0))
    outcome = outcome._replace(node=row(-1, 1, 1, -1, 0, -1, dtype=np.int32))
    # After the first change the second pod is late, after the second change the first one is.
    late = row(0, 0, 1, 0, 1, 0, dtype=bool)
    runs = make_runs([compile_trace(TRACE)], found._replace(outcome=outcome, is_beyond_soft=late))
    assert measure_all(runs)["late_after_change"].tolist() == [[1.0]]
