"""Make room: tell the victims of a preemption to leave, as upstream does (condition, deletion, event)."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from longshore.core.words.pod import Pod
from longshore.kube import writes
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, Invalid, NotFound, Unreachable
from longshore.scheduling.intake import DISRUPTION_TARGET, PREEMPTED_BY_SCHEDULER
from longshore.scheduling.recorder import EventRecorder, PodEvent

MAX_EVICTIONS = 16
"""Victims that are told to leave at the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evictor:
    """Evicts victims."""

    client: Client
    recorder: EventRecorder
    scheduler_name: str
    may_evict: Callable[[], bool] = lambda: True
    """Asked right before every deletion: whether this process still leads."""
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_EVICTIONS))

    async def evict(self, preemptor: Pod, node: str, victims: Sequence[Pod]) -> list[Pod]:
        """Delete the victims; return those that stay, as the server did not take the deletion.

        Those that are terminating already are left alone. All go at once but the last: while one is left, the pod
        that they leave for is not tried in vain.
        """
        leaving = [victim for victim in victims if not victim.spec.is_terminating]
        first, last = leaving[:-1], leaving[-1:]
        results = await asyncio.gather(*(self._evict(preemptor, node, pod) for pod in first))
        refused = [pod for pod, is_gone in zip(first, results, strict=True) if not is_gone]
        if refused:
            return refused
        return [pod for pod in last if not await self._evict(preemptor, node, pod)]

    async def _evict(self, preemptor: Pod, node: str, victim: Pod) -> bool:
        async with self.slots:
            return await self._evict_one(preemptor, node, victim)

    async def _evict_one(self, preemptor: Pod, node: str, victim: Pod) -> bool:
        message = f"{self.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = writes.Condition(DISRUPTION_TARGET, "True", PREEMPTED_BY_SCHEDULER, message)
        where = (self.client, victim.namespace, victim.name, victim.uid)
        is_marked = False
        try:
            if not self.may_evict():
                return False
            await writes.patch_pod_status(*where, conditions=[condition])
            is_marked = True
            if not self.may_evict():
                return False
            await writes.delete_pod(*where)
        except (NotFound, Conflict, Invalid):
            return True  # it is gone, and with it what it held
        except ApiError as error:
            _log.warning("victim not evicted pod=%s for=%s: %s", victim.key, preemptor.key, error)
            if is_marked and not isinstance(error, Unreachable):  # otherwise it may be on its way out
                await self._unmark(victim)
            return False
        _log.info("preempted pod=%s node=%s for=%s", victim.key, node, preemptor.key)
        related = writes.pod_reference(preemptor.namespace, preemptor.name, preemptor.uid)
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        self.recorder.record(
            PodEvent(victim.namespace, victim.name, victim.uid, "Preempted", "Preempting", note, related=related)
        )
        return True

    async def _unmark(self, victim: Pod) -> None:
        """Take back that a pod is to be disrupted: controllers that read the condition would wait for it to leave."""
        message = f"{self.scheduler_name}: the API server did not accept the eviction"
        condition = writes.Condition(DISRUPTION_TARGET, "False", PREEMPTED_BY_SCHEDULER, message)
        try:
            await writes.patch_pod_status(
                self.client, victim.namespace, victim.name, victim.uid, conditions=[condition]
            )
        except ApiError as error:
            _log.info("condition not taken back pod=%s: %s", victim.key, error)
