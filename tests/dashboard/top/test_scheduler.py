"""A scheduler's metrics, read: ours, and those of stock kube-scheduler."""

import pytest
from prometheus_client import generate_latest

from longshore.dashboard.top.scheduler import SchedulerState, parse_metrics
from longshore.scheduling.metrics import SchedulerMetrics

STOCK = """# TYPE scheduler_pending_pods gauge
scheduler_pending_pods{queue="active"} 4
scheduler_pending_pods{queue="backoff"} 0
# TYPE scheduler_schedule_attempts_total counter
scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 7
scheduler_schedule_attempts_total{profile="other",result="scheduled"} 3
"""


def test_our_own_metrics_say_all():
    metrics = SchedulerMetrics("longshore")
    metrics.set_model("models/el-rl", "", "3f2a91bc" + "0" * 56)
    metrics.set_leader(True)
    metrics.fell_back("deadline")
    metrics.set_pending(1, 2, 3, 0)
    metrics.attempted("scheduled", 0.01)
    for seconds in [0.0004] * 97 + [0.004] * 3:
        metrics.decided(seconds, seconds)
    got = parse_metrics(generate_latest(metrics.registry).decode())
    assert got == SchedulerState(
        policy="models/el-rl",
        version="3f2a91bc",
        is_leader=True,
        attempts={"scheduled": 1, "unschedulable": 0, "error": 0},
        fallbacks={"deadline": 1},
        pending={"active": 1, "backoff": 2, "unschedulable": 3, "gated": 0},
        decision_p50_seconds=0.0005,
        decision_p99_seconds=0.005,
    )


def test_stock_kube_scheduler_names_no_policy():
    got = parse_metrics(STOCK)
    assert (got.policy, got.is_leader, got.decision_p99_seconds) == ("", None, None)
    assert got.attempts == {"scheduled": 10}
    assert got.pending == {"active": 4, "backoff": 0}


def test_what_is_no_page_of_metrics_is_refused():
    with pytest.raises(ValueError, match=r".+"):
        parse_metrics("<html>not found</html>")
