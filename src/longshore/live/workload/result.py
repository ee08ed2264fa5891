"""The result of a live run: that of `longshore simulate`, and beside it what only a live run has."""

from dataclasses import dataclass

from longshore.core.words.trace import Create
from longshore.evaluation.series import Series, number_or_none
from longshore.live.recording import PodBound
from longshore.live.replay import Waits, replay, waiting_seconds
from longshore.live.workload.run import Observed


@dataclass(frozen=True)
class LiveResult:
    """A live run in numbers."""

    series: Series
    """As of `longshore simulate`; its policy is the scheduler's name, its seconds are the trace's."""
    waits: Waits
    """In real seconds."""
    speed: float
    created: int
    never_bound: int
    observed: Observed

    def to_json(self) -> dict[str, object]:
        """Return the result as plain values: the fields of `longshore simulate`, and `live`."""
        observed = self.observed
        live = {
            "scheduler_name": self.series.policy,
            "namespace": observed.namespace,
            "speed": self.speed,
            "created": self.created,
            "never_bound": self.never_bound,
            "waiting_seconds": {name: number_or_none(value) for name, value in self.waits._asdict().items()},
            "most_behind_seconds": observed.most_behind_seconds,
            "is_interrupted": observed.is_interrupted,
            "remarks": list(observed.remarks),
        }
        return self.series.to_json() | {"live": live}


def make_result(
    observed: Observed, workload: str, scheduler_name: str, objective: str, seed: int, speed: float
) -> LiveResult:
    """Measure what was observed.

    Raises:
        InputError: no pod was seen.
    """
    happened = observed.recording.happened
    created = {one.pod.key for one in happened if isinstance(one, Create)}
    return LiveResult(
        series=replay(observed.recording, workload, scheduler_name, objective, seed),
        waits=waiting_seconds(observed.recording, speed),
        speed=speed,
        created=len(created),
        never_bound=len(created - {one.pod for one in happened if isinstance(one, PodBound)}),
        observed=observed,
    )
