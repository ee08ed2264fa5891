"""The metrics: upstream's names, labels and buckets; what is counted; what it costs; what the docs page lists."""

import re
import time
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from longshore.scheduling.metrics import Health, SchedulerMetrics
from longshore.telemetry.file import FileSource
from longshore.telemetry.follow import Telemetry

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"

UPSTREAM = {
    # name: (type, labels, first and last finite bucket, number of finite buckets)
    "scheduler_schedule_attempts": ("counter", {"result", "profile"}, None),
    "scheduler_scheduling_attempt_duration_seconds": ("histogram", {"result", "profile"}, (0.001, 16.384, 15)),
    "scheduler_scheduling_algorithm_duration_seconds": ("histogram", set(), (0.001, 16.384, 15)),
    "scheduler_pod_scheduling_sli_duration_seconds": ("histogram", {"attempts"}, (0.01, 5242.88, 20)),
    "scheduler_pod_scheduling_attempts": ("histogram", set(), (1, 16, 5)),
    "scheduler_pending_pods": ("gauge", {"queue"}, None),
    "scheduler_preemption_victims": ("histogram", set(), (1, 64, 7)),
    "scheduler_preemption_attempts": ("counter", set(), None),
    "scheduler_queue_incoming_pods": ("counter", {"queue", "event"}, None),
}


class Measured:
    """A source of readings that is followed."""

    name, num_failures = "file", 2

    def age_seconds(self) -> float:
        return 1.5

    def num_stale(self) -> int:
        return 3


def used() -> SchedulerMetrics:
    """Return metrics of which every method was called once."""
    metrics = SchedulerMetrics("longshore")
    metrics.decided(0.0004, 0.0002)
    metrics.attempted("scheduled", 0.003)
    metrics.pod_scheduled(attempts=2, seconds_since_queued=0.5)
    metrics.queued("active", "PodAdd")
    metrics.set_pending(active=1, backoff=2, unschedulable=3, gated=4)
    metrics.preempted(3)
    metrics.fell_back("deadline")
    metrics.watch_restarted("pods", "gone")
    metrics.bind_started()
    metrics.set_leader(True)
    metrics.set_model("el-rl", "1", "ab12")
    metrics.watch_log(lambda: 7)
    metrics.watch_readings([Measured()])  # type: ignore[list-item]
    return metrics


def families(metrics: SchedulerMetrics):
    return {one.name: one for one in text_string_to_metric_families(generate_latest(metrics.registry).decode())}


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstream_metrics_have_upstream_types_labels_and_buckets(name: str):
    kind, labels, buckets = UPSTREAM[name]
    family = families(used())[name]
    assert family.type == kind
    assert {label for sample in family.samples for label in sample.labels} - {"le"} == labels
    if buckets is not None:
        bounds = sorted({float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels})
        finite = [bound for bound in bounds if bound != float("inf")]
        assert (finite[0], pytest.approx(finite[-1]), len(finite)) == buckets


def value(metrics: SchedulerMetrics, name: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


@pytest.mark.parametrize(
    ("name", "labels", "want"),
    [
        ("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": "longshore"}, 1),
        ("scheduler_schedule_attempts_total", {"result": "error", "profile": "longshore"}, 0),
        ("scheduler_pod_scheduling_sli_duration_seconds_sum", {"attempts": "2"}, 0.5),
        ("scheduler_pod_scheduling_attempts_sum", {}, 2),
        ("scheduler_pending_pods", {"queue": "gated"}, 4),
        ("scheduler_preemption_victims_sum", {}, 3),
        ("scheduler_queue_incoming_pods_total", {"queue": "active", "event": "PodAdd"}, 1),
        ("longshore_decision_duration_seconds_bucket", {"le": "0.0005"}, 1),
        ("longshore_decision_cpu_seconds_sum", {}, 0.0002),
        ("longshore_fallback_total", {"reason": "deadline"}, 1),
        ("longshore_watch_restarts_total", {"resource": "pods", "reason": "gone"}, 1),
        ("longshore_binds_in_flight", {}, 1),
        ("longshore_leader", {}, 1),
        ("longshore_model_info", {"name": "el-rl", "version": "1", "sha256": "ab12"}, 1),
        ("longshore_decision_log_dropped_total", {}, 7),
        ("longshore_readings_age_seconds", {"source": "file"}, 1.5),
        ("longshore_readings_stale_nodes", {"source": "file"}, 3),
        ("longshore_readings_failures_total", {}, 2),
    ],
)
def test_methods_count_what_they_say(name: str, labels: dict[str, str], want: float):
    assert value(used(), name, **labels) == want


def test_attempts_are_one_label_from_fifteen_on():
    metrics = SchedulerMetrics()
    metrics.pod_scheduled(15, 1.0)
    metrics.pod_scheduled(400, 1.0)
    assert value(metrics, "scheduler_pod_scheduling_sli_duration_seconds_count", attempts="15+") == 2


def test_only_the_model_that_decides_is_shown():
    metrics = used()
    metrics.set_model("kube-default")
    samples = families(metrics)["longshore_model_info"].samples
    assert [sample.labels["name"] for sample in samples] == ["kube-default"]


def test_preemption_without_victims_is_an_attempt():
    metrics = SchedulerMetrics()
    metrics.preempted(0)
    assert value(metrics, "scheduler_preemption_attempts_total") == 1
    assert value(metrics, "scheduler_preemption_victims_count") == 0


def test_readings_that_never_came_have_no_age():
    metrics = SchedulerMetrics()
    metrics.watch_readings(Telemetry({"file": FileSource("/none")}, lambda _: None).followers)
    assert value(metrics, "longshore_readings_age_seconds", source="file") is None


def test_health_is_shown_as_it_is_when_asked():
    metrics = SchedulerMetrics()
    metrics.watch_health(Health(lambda: {"pods": 7.0}, lambda: 3.0, lambda: 0.5, lambda: {"events": 8}))
    value = metrics.registry.get_sample_value
    assert value("longshore_watch_age_seconds", {"resource": "pods"}) == 7
    assert value("longshore_oldest_bind_seconds") == 3
    assert value("longshore_loop_lag_seconds") == 0.5
    assert value("longshore_workers", {"kind": "events"}) == 8


def test_two_schedulers_in_one_process_do_not_share():
    first, second = SchedulerMetrics(), SchedulerMetrics()
    first.preempted(1)
    assert value(second, "scheduler_preemption_attempts_total") == 0


def test_a_decision_costs_little():
    metrics = used()
    best = min(seconds_per_decision(metrics, 500) for _ in range(10))
    # 20 µs is what is aimed at; several times that on a machine that does other things too still passes.
    assert best < 100e-6


def seconds_per_decision(metrics: SchedulerMetrics, repeats: int) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        metrics.decided(0.0004, 0.0002)
        metrics.queued("active", "PodAdd")
        metrics.set_pending(1, 0, 0, 0)
        metrics.bind_started()
        metrics.bind_ended()
        metrics.attempted("scheduled", 0.003)
        metrics.pod_scheduled(1, 0.5)
    return (time.perf_counter() - started) / repeats


def test_the_reference_page_lists_every_metric():
    listed = set(re.findall(r"^\| `(\w+)` \|", DOCS.read_text(encoding="utf-8"), re.M))
    there = {name + ("_total" if one.type == "counter" else "") for name, one in families(used()).items()}
    assert listed == {name for name in there if not name.startswith("process_")}
