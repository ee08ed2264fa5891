"""Make room: tell the victims of a preemption to leave, as upstream does (condition, deletion, event)."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from longshore.core.words.pod import Pod
from longshore.kube import writes
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, Invalid, NotFound
from longshore.scheduling.intake import DISRUPTION_TARGET, PREEMPTED_BY_SCHEDULER
from longshore.scheduling.recorder import EventRecorder, PodEvent

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evictor:
    """Evicts victims."""

    client: Client
    recorder: EventRecorder
    scheduler_name: str
    may_evict: Callable[[], bool] = lambda: True
    """Asked right before every deletion: whether this process still leads."""

    async def evict(self, preemptor: Pod, node: str, victims: Sequence[Pod]) -> bool:
        """Delete the victims; False where the server did not take one of the deletions.

        Those that are terminating already are left alone. All go at once but the last: while one is left, the pod
        that they leave for is not tried in vain.
        """
        leaving = [victim for victim in victims if not victim.spec.is_terminating]
        results = await asyncio.gather(*(self._evict(preemptor, node, pod) for pod in leaving[:-1]))
        if not all(results):
            return False
        return await self._evict(preemptor, node, leaving[-1]) if leaving else True

    async def _evict(self, preemptor: Pod, node: str, victim: Pod) -> bool:
        message = f"{self.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = writes.Condition(DISRUPTION_TARGET, "True", PREEMPTED_BY_SCHEDULER, message)
        where = (self.client, victim.namespace, victim.name, victim.uid)
        try:
            if not self.may_evict():
                return False
            await writes.patch_pod_status(*where, conditions=[condition])
            if not self.may_evict():
                return False
            await writes.delete_pod(*where)
        except (NotFound, Conflict, Invalid):
            return True  # it is gone, and with it what it held
        except ApiError as error:
            _log.warning("victim not evicted pod=%s for=%s: %s", victim.key, preemptor.key, error)
            return False
        _log.info("preempted pod=%s node=%s for=%s", victim.key, node, preemptor.key)
        related = writes.pod_reference(preemptor.namespace, preemptor.name, preemptor.uid)
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        self.recorder.record(
            PodEvent(victim.namespace, victim.name, victim.uid, "Preempted", "Preempting", note, related=related)
        )
        return True
