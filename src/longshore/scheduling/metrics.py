"""What a scheduler tells Prometheus: upstream's metrics under upstream's names, and our own as `longshore_*`.

Names, labels and buckets are those of kube-scheduler 1.36 (`pkg/scheduler/metrics`), so that its dashboards and alerts
work unchanged. The live loop calls the methods; `server.health` shows the registry. Children of labelled metrics are
looked up once and kept: the look-up costs more than counting.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from longshore.telemetry.follow import Follower

Result = Literal["scheduled", "unschedulable", "error"]
RESULTS: tuple[Result, ...] = ("scheduled", "unschedulable", "error")
QUEUES = ("active", "backoff", "unschedulable", "gated")
MOST_ATTEMPTS_LABEL = 15
"""Upstream's: from so many attempts on the label is `15+`, so that its values stay few."""


def _doubling(start: float, count: int) -> tuple[float, ...]:
    return tuple(start * 2**i for i in range(count))


_MILLISECONDS = _doubling(0.001, 15)
_DECISION = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Finer than upstream's, whose first bucket is a millisecond: most of our decisions are faster."""


class SchedulerMetrics:
    """The metrics of one scheduler process, in a registry of their own."""

    def __init__(self, profile: str = "longshore") -> None:
        """Take the profile, which for us is the scheduler's name."""
        # kube-scheduler has no `_created` series, and they would double the page.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._profile = profile
        self._add_attempts()
        self._add_queues()
        self._add_own()

    def _add_attempts(self) -> None:
        registry = self.registry
        attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods, by result: `unschedulable` = no node fits, `error` = the scheduler failed.",
            ("result", "profile"),
            registry=registry,
        )
        durations = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Seconds of an attempt, deciding and binding together.",
            ("result", "profile"),
            buckets=_MILLISECONDS,
            registry=registry,
        )
        # Every result from the start: a rate over a series that appears later would miss its first increase.
        self._attempts = {r: (attempts.labels(r, self._profile), durations.labels(r, self._profile)) for r in RESULTS}
        self._algorithm = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Seconds of deciding, without binding.",
            buckets=_MILLISECONDS,
            registry=registry,
        )
        self._sli = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Seconds from a pod's first entry into the queue until it was bound, by the number of attempts.",
            ("attempts",),
            buckets=_doubling(0.01, 20),
            registry=registry,
        )
        self._sli_children = [
            self._sli.labels(str(number) if number < MOST_ATTEMPTS_LABEL else f"{MOST_ATTEMPTS_LABEL}+")
            for number in range(1, MOST_ATTEMPTS_LABEL + 1)
        ]
        self._pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts that it took to schedule a pod.",
            buckets=_doubling(1, 5),
            registry=registry,
        )

    def _add_queues(self) -> None:
        registry = self.registry
        pending = Gauge(
            "scheduler_pending_pods",
            "Waiting pods, by queue: `unschedulable` were tried in vain, `gated` were never tried.",
            ("queue",),
            registry=registry,
        )
        self._pending = [pending.labels(queue) for queue in QUEUES]
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "Pods that were chosen to make room for one.",
            buckets=_doubling(1, 7),
            registry=registry,
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts_total", "Attempts to make room by removing pods.", registry=registry
        )
        self._incoming = Counter(
            "scheduler_queue_incoming_pods_total",
            "Pods that came into a queue, by what brought them there.",
            ("queue", "event"),
            registry=registry,
        )
        self._incoming_children: dict[tuple[str, str], Counter] = {}

    def _add_own(self) -> None:
        registry = self.registry
        self._decision = Histogram(
            "longshore_decision_duration_seconds",
            "Seconds of deciding, without binding, in finer steps.",
            buckets=_DECISION,
            registry=registry,
        )
        self._decision_cpu = Histogram(
            "longshore_decision_cpu_seconds",
            "Processor seconds of deciding: far less than the duration where others take the processor away.",
            buckets=_DECISION,
            registry=registry,
        )
        self._fallbacks = Counter(
            "longshore_fallback_total",
            "Decisions that the policy did not make, by the reason.",
            ("reason",),
            registry=registry,
        )
        self._restarts = Counter(
            "longshore_watch_restarts_total",
            "Watches that had to be started again, by resource and reason.",
            ("resource", "reason"),
            registry=registry,
        )
        self._in_flight = Gauge(
            "longshore_binds_in_flight", "Bindings that were sent and not answered.", registry=registry
        )
        self._leader = Gauge("longshore_leader", "1 while this process holds the lease.", registry=registry)
        self._model = Gauge(
            "longshore_model_info",
            "Always 1; the labels name the policy.",
            ("name", "version", "sha256"),
            registry=registry,
        )
        self._pulled = _Pulled()
        registry.register(self._pulled)

    def decided(self, seconds: float, cpu_seconds: float) -> None:
        """Count the time that one decision took, without binding, by the clock and on the processor."""
        self._algorithm.observe(seconds)
        self._decision.observe(seconds)
        self._decision_cpu.observe(cpu_seconds)

    def attempted(self, result: Result, seconds: float) -> None:
        """Count an attempt by its result; the time is that of deciding and binding."""
        counter, histogram = self._attempts[result]
        counter.inc()
        histogram.observe(seconds)

    def pod_scheduled(self, attempts: int, seconds_since_queued: float) -> None:
        """Count a pod that was bound, after so many attempts and so long since it first entered the queue."""
        self._pod_attempts.observe(attempts)
        self._sli_children[min(max(attempts, 1), MOST_ATTEMPTS_LABEL) - 1].observe(seconds_since_queued)

    def queued(self, queue: str, event: str) -> None:
        """Count a pod that came into a queue; the event is upstream's name of what brought it there."""
        child = self._incoming_children.get((queue, event))
        if child is None:
            child = self._incoming_children[queue, event] = self._incoming.labels(queue, event)
        child.inc()

    def set_pending(self, active: int, backoff: int, unschedulable: int, gated: int) -> None:
        """Say how many pods wait in each queue."""
        for gauge, number in zip(self._pending, (active, backoff, unschedulable, gated), strict=True):
            gauge.set(number)

    def preempted(self, num_victims: int) -> None:
        """Count an attempt to make room; 0 victims = none was found."""
        self._preemptions.inc()
        if num_victims:
            self._victims.observe(num_victims)

    def fell_back(self, reason: str) -> None:
        """Count a decision that the policy did not make."""
        self._fallbacks.labels(reason).inc()

    def watch_restarted(self, resource: str, reason: str) -> None:
        """Count a watch that had to be started again."""
        self._restarts.labels(resource, reason).inc()

    def bind_started(self) -> None:
        """Count a binding that was sent."""
        self._in_flight.inc()

    def bind_ended(self) -> None:
        """Count a binding that was answered, well or not."""
        self._in_flight.dec()

    def set_leader(self, is_leader: bool) -> None:
        """Say whether this process holds the lease."""
        self._leader.set(is_leader)

    def set_model(self, name: str, version: str = "", sha256: str = "") -> None:
        """Name the policy that decides; the one before is no longer shown."""
        self._model.clear()
        self._model.labels(name, version, sha256).set(1)

    def watch_log(self, num_dropped: Callable[[], int]) -> None:
        """Show how many records the decision log lost; asked for when Prometheus asks."""
        self._pulled.num_dropped = num_dropped

    def watch_readings(self, followers: Sequence[Follower]) -> None:
        """Show how old each source's readings are."""
        self._pulled.followers = followers

    def watch_health(self, health: "Health") -> None:
        """Show how well the process itself is; asked for when Prometheus asks."""
        self._pulled.health = health


@dataclass(frozen=True)
class Health:
    """Where the figures about the process itself come from."""

    watch_ages: Callable[[], Mapping[str, float]] = dict
    """Seconds since each resource's watch said something, were it only a bookmark."""
    oldest_bind_seconds: Callable[[], float] = lambda: 0.0
    loop_lag_seconds: Callable[[], float] = lambda: 0.0
    """The longest that something due had to wait for the event loop since it was asked for last."""
    num_workers: Callable[[], Mapping[str, int]] = dict
    """Tasks that send events and statuses and are alive, by kind."""


class _Pulled(Collector):
    """Figures that are asked for when the page is made: they change without anybody calling."""

    def __init__(self) -> None:
        self.num_dropped: Callable[[], int] = lambda: 0
        self.followers: Sequence[Follower] = ()
        self.health = Health()

    def collect(self) -> Iterable[Metric]:
        dropped = "Decisions that the decision log could not keep."
        yield CounterMetricFamily("longshore_decision_log_dropped_total", dropped, value=self.num_dropped())
        ages = {one.name: age for one in self.followers if (age := one.age_seconds()) is not None}
        yield _gauge("longshore_readings_age_seconds", "Age of a source's newest reading.", "source", ages)
        stale = {one.name: one.num_stale() for one in self.followers}
        yield _gauge("longshore_readings_stale_nodes", "Nodes whose readings are too old to count.", "source", stale)
        failures = sum(one.num_failures for one in self.followers)
        text = "Times that a source of readings could not be read; the last good ones were kept."
        yield CounterMetricFamily("longshore_readings_failures_total", text, value=failures)
        health = self.health
        text = "Seconds since the watch of a resource said something, were it only a bookmark."
        yield _gauge("longshore_watch_age_seconds", text, "resource", health.watch_ages())
        text = "Tasks that send events and statuses and are alive."
        yield _gauge("longshore_workers", text, "kind", health.num_workers())
        text = "Seconds since the oldest binding under way was begun; 0 = there is none."
        yield GaugeMetricFamily("longshore_oldest_bind_seconds", text, value=health.oldest_bind_seconds())
        text = "The longest that something due had to wait for the event loop since the last scrape."
        yield GaugeMetricFamily("longshore_loop_lag_seconds", text, value=health.loop_lag_seconds())


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)
    return family
