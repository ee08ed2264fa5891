"""One measurement of a scheduler: its pods and figures. `commands/test_bench_cluster.py` measures for real."""

import math
from pathlib import Path

import pytest

from longshore.core.words.errors import LongshoreError
from longshore.kube.errors import Forbidden
from longshore_lab.cluster.local import LocalCluster
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord, PartRecord
from longshore_lab.speed import cluster_run as cluster_speed_run
from longshore_lab.speed.cluster_metrics import Histogram
from longshore_lab.speed.cluster_run import Measurement, check_fallbacks, counted_page, exact_quantile, pods


def run(**changes) -> Measurement:
    return Measurement(**{"mode": "standalone", "nodes": 10, "pods": 101, "seconds": 2.0, "binding_seconds": 0.5,
                  "cpu_seconds": 0.3, "memory_bytes": 7, **changes})  # fmt: skip


def test_exact_quantile_is_a_value_that_was_measured():
    values = [float(number) for number in range(1, 101)]
    assert exact_quantile(values, 0.5) == 50.0
    assert exact_quantile(values, 0.99) == 99.0
    assert exact_quantile([3.0], 0.99) == 3.0


def test_run_rates_are_with_and_without_the_start():
    assert run().pods_per_second == pytest.approx(50.5)
    assert run().pods_per_second_binding == pytest.approx(200.0)


def test_run_decision_time_is_exact_where_every_decision_is_known():
    assert run(latencies_ms=(1.0, 2.0, 9.0)).decision_ms(0.5) == 2.0


def test_run_decision_time_is_that_of_the_histogram_otherwise():
    durations = Histogram((0.001, 0.002, math.inf), (0, 100, 100))
    assert run(mode="stock", durations=durations).decision_ms(0.5) == pytest.approx(1.5)


def test_pods_of_every_scheduler_are_the_same():
    assert pods(3) == pods(3)
    assert {content["spec"]["schedulerName"] for _, content in pods(3)} == {"measured"}
    assert all("nodeName" not in content["spec"] for _, content in pods(3))


def test_pods_can_be_bound_from_the_start():
    names = [content["spec"]["nodeName"] for _, content in pods(3, lambda index: f"node-{index % 2}")]
    assert names == ["node-0", "node-1", "node-0"]


def page(ranked: int, **fallbacks: int) -> str:
    lines = [f"longshore_decision_duration_seconds_count {ranked}"]
    lines += [f'longshore_fallback_total{{reason="{reason}"}} {number}' for reason, number in fallbacks.items()]
    return "\n".join(lines)


def test_fallbacks_are_none_with_a_bundle_and_all_without():
    assert check_fallbacks("plugin", page(40), 40) == 0
    assert check_fallbacks("plugin-fallback", page(41, **{"model-missing": 41}), 40) == 41


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [
        ("plugin", page(40, deadline=2), "2 deadline; expected none"),
        ("plugin", page(39), "ranked 39 of 40 pods"),
        ("plugin-fallback", page(40), "were: none; expected 40 model-missing"),
        ("plugin-fallback", page(40, **{"model-missing": 40, "panic": 1}), "40 model-missing, 1 panic"),
    ],
)
def test_fallbacks_that_are_not_as_they_should_be_are_an_error(mode: str, text: str, said: str):
    with pytest.raises(LongshoreError, match=said):
        check_fallbacks(mode, text, 40)


async def test_metrics_are_read_again_while_the_scheduler_does_not_know_who_may_ask(monkeypatch: pytest.MonkeyPatch):
    answers = iter([Forbidden(403, "Forbidden", "not yet"), 'scheduler_schedule_attempts_total{result="scheduled"} 3'])

    async def read_metrics(*_: object) -> str:
        answer = next(answers)
        if isinstance(answer, Forbidden):
            raise answer
        return answer

    monkeypatch.setattr(cluster_speed_run, "read_metrics", read_metrics)
    cluster = LocalCluster(Path(), ClusterRecord(options=ClusterOptions()))
    assert "scheduled" in await counted_page(cluster, PartRecord(name="plugin", command=[]), 3)


async def test_metrics_that_stay_refused_are_told_as_what_they_are(monkeypatch: pytest.MonkeyPatch):
    async def read_metrics(*_: object) -> str:
        raise Forbidden(403, "Forbidden", "not for you")

    monkeypatch.setattr(cluster_speed_run, "read_metrics", read_metrics)
    monkeypatch.setattr(cluster_speed_run, "_METRICS_SECONDS", 0.1)
    cluster = LocalCluster(Path(), ClusterRecord(options=ClusterOptions()))
    with pytest.raises(Forbidden, match="not for you"):
        await counted_page(cluster, PartRecord(name="plugin", command=[]), 3)
