"""What a scheduler's own metrics say about it: which policy decides, whether it leads, how often it fell back."""

from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class SchedulerState:
    """A scheduler at one moment, as far as its metrics tell."""

    policy: str = ""
    version: str = ""
    is_leader: bool | None = None
    attempts: dict[str, int] = field(default_factory=dict)
    """Attempts since its start, by result."""
    fallbacks: dict[str, int] = field(default_factory=dict)
    """Decisions that the policy did not make, by reason."""
    pending: dict[str, int] = field(default_factory=dict)
    """Waiting pods, by queue."""
    decision_p50_seconds: float | None = None
    decision_p99_seconds: float | None = None
    """Upper ends of the buckets that these fall in."""


def parse_metrics(text: str) -> SchedulerState:
    """Read a page of `/metrics`; of stock kube-scheduler too, which names no policy.

    Raises:
        ValueError: it is no such page.
    """
    values: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            values.setdefault(sample.name, []).append((sample.labels, sample.value))
    model = next((labels for labels, _ in values.get("longshore_model_info", [])), {})
    leader = next((value for _, value in values.get("longshore_leader", [])), None)
    duration = "longshore_decision_duration_seconds_bucket"
    if duration not in values:
        duration = "scheduler_scheduling_algorithm_duration_seconds_bucket"
    counts: dict[float, float] = {}
    for labels, value in values.get(duration, []):  # of several profiles
        counts[float(labels["le"])] = counts.get(float(labels["le"]), 0.0) + value
    buckets = sorted(counts.items())
    return SchedulerState(
        policy=model.get("name", ""),
        version=model.get("version", "") or model.get("sha256", "")[:8],
        is_leader=None if leader is None else leader > 0,
        attempts=_by(values, "scheduler_schedule_attempts_total", "result"),
        fallbacks=_by(values, "longshore_fallback_total", "reason"),
        pending=_by(values, "scheduler_pending_pods", "queue"),
        decision_p50_seconds=_quantile(buckets, 0.5),
        decision_p99_seconds=_quantile(buckets, 0.99),
    )


def _by(values: dict[str, list[tuple[dict[str, str], float]]], name: str, label: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for labels, value in values.get(name, []):
        found[labels.get(label, "")] = found.get(labels.get(label, ""), 0) + int(value)
    return found


def _quantile(buckets: list[tuple[float, float]], share: float) -> float | None:
    if not buckets or not buckets[-1][1]:
        return None
    return next(bound for bound, count in buckets if count >= share * buckets[-1][1])
