"""Why pods wait, for people: a condition and an event where there is news, and not more often than anybody reads.

What a pod waits for changes with every node that fills: `3 Insufficient cpu`, then `4 Insufficient cpu`. The first
message and every other reason are written at once, the rest at most every `CONDITION_SECONDS` (condition) and
`EVENT_SECONDS` (event). A condition that is held back is written when its time comes, so that it has the last word.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from longshore.kube.cache import PodChange
from longshore.scheduling.recorder import EventRecorder, PodEvent
from longshore.scheduling.status_writer import StatusWriter

CONDITION_SECONDS = 10.0
EVENT_SECONDS = 60.0
ANNOTATION_IGNORED = "LongshoreAnnotationIgnored"
REPEAT_SECONDS = 300.0
"""An event that says the same is counted up after so long, in a series as upstream's."""


@dataclass
class _Told:
    uid: str
    reason: str
    message: str
    condition_at: float
    event_at: float
    event: PodEvent
    """The last that was sent."""
    count: int = 1
    held_back: asyncio.TimerHandle | None = None


class PendingReports:
    """Tells the owners of waiting pods why they wait."""

    def __init__(self, statuses: StatusWriter, recorder: EventRecorder, clock: Callable[[], float]) -> None:
        self._statuses, self._recorder, self._clock = statuses, recorder, clock
        self._told: dict[str, _Told] = {}
        self._passed_over: dict[str, tuple[str, str | None]] = {}

    def report(self, pod: PodChange, reason: str, message: str) -> None:
        """Say why a pod waits, where that is news."""
        now, told = self._clock(), self._told.get(pod.key)
        if told is None or (told.uid, told.reason) != (pod.uid, reason):
            self._stop(pod.key)
            self._statuses.pending(pod, reason, message)
            self._told[pod.key] = _Told(pod.uid, reason, message, now, now, self._send(pod, message))
            return
        told.message = message
        if told.held_back is None:
            self._report_again(pod, told, now)

    def passed_over(self, pod: PodChange) -> None:
        """Say once what of a pod's annotations cannot be read and does not count."""
        told = pod.uid, pod.error
        if self._passed_over.get(pod.key) != told:
            self._passed_over[pod.key] = told
            note = f"It does not count: {pod.error}"
            self._recorder.record(PodEvent(*_of(pod), ANNOTATION_IGNORED, "Scheduling", note, is_warning=True))

    def forget(self, key: str) -> None:
        """A pod is bound or gone."""
        self._passed_over.pop(key, None)
        self._stop(key)

    def _stop(self, key: str) -> None:
        told = self._told.pop(key, None)
        if told is not None and told.held_back is not None:
            told.held_back.cancel()

    def _report_again(self, pod: PodChange, told: _Told, now: float) -> None:
        told.held_back = None
        is_same = told.event.note == told.message
        wait = told.condition_at + CONDITION_SECONDS - now
        if not is_same and wait > 0:
            later = asyncio.get_running_loop().call_later
            told.held_back = later(wait, lambda: self._report_again(pod, told, self._clock()))
            return
        if self._statuses.pending(pod, told.reason, told.message):
            told.condition_at = now
        if now - told.event_at < (REPEAT_SECONDS if is_same else EVENT_SECONDS):
            return
        told.event_at = now
        if is_same:
            told.count += 1
            self._recorder.repeat(told.event, told.count)
        else:
            told.event, told.count = self._send(pod, told.message), 1

    def _send(self, pod: PodChange, message: str) -> PodEvent:
        return self._recorder.record(PodEvent(*_of(pod), "FailedScheduling", "Scheduling", message, is_warning=True))


def _of(pod: PodChange) -> tuple[str, str, str]:
    return pod.namespace, pod.name, pod.uid
