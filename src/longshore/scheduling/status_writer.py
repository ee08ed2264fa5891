"""Pods' conditions and nominated nodes, written beside the decisions: per pod the latest, and only what changed."""

import asyncio
import logging
from dataclasses import dataclass, replace

from longshore.kube import writes
from longshore.kube.cache import PodChange
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, Unauthorized

NUM_WORKERS = 4
_GONE = (NotFound, Conflict, Invalid)
_RETRY_SECONDS = 1.0
_PAUSE_SECONDS = 0.01
_SCHEDULED = "PodScheduled"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a pod's status is to say."""

    namespace: str
    name: str
    uid: str
    condition: writes.Condition | None = None
    nominated_node: str | None = None


class StatusWriter:
    """Writes pods' statuses in the background."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wanted: dict[str, _Wanted] = {}
        self._said: dict[str, tuple[str, str, str]] = {}
        """By key: UID, reason and message of the condition that was written last."""
        self._wakened = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._writing: set[str] = set()

    def pending(self, pod: PodChange, reason: str, message: str) -> bool:
        """Say that a pod could not be placed, and why; False = it says so already."""
        before = next((each for each in pod.conditions if each.type == _SCHEDULED), None)
        said = self._said.get(pod.key)
        if said is None and before is not None and before.status == "False":
            said = (pod.uid, before.reason, before.message)
        self._said[pod.key] = (pod.uid, reason, message)
        if said == (pod.uid, reason, message):
            return False
        is_repeated = before is not None and before.status == "False"
        since = before.last_transition_time if before is not None and is_repeated else None
        condition = writes.Condition(_SCHEDULED, "False", reason, message, since)
        self._want(replace(self._known(pod), condition=condition), pod.key)
        return True

    def nominate(self, pod: PodChange, node: str) -> None:
        """Write where room is being made for a pod; an empty name = nowhere any more."""
        self._want(replace(self._known(pod), nominated_node=node), pod.key)

    def forget(self, key: str) -> None:
        """A pod is bound or gone: nothing is to be said about it any more."""
        self._said.pop(key, None)
        self._wanted.pop(key, None)

    async def settle(self, key: str) -> None:
        """Drop what is to be written of a pod, and wait for what is under way.

        A write that says `not scheduled` must not come after the binding.
        """
        self.forget(key)
        while key in self._writing:
            await asyncio.sleep(_PAUSE_SECONDS)

    @property
    def num_workers(self) -> int:
        """Tasks that are alive."""
        return sum(not worker.done() for worker in self._workers)

    def start(self) -> None:
        """Begin to write."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(NUM_WORKERS)]

    async def close(self, timeout_seconds: float = 2.0) -> None:
        """Write what waits, as far as the time allows, and stop."""
        ends = asyncio.get_running_loop().time() + timeout_seconds
        while (self._wanted or self._writing) and asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(_PAUSE_SECONDS)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def _known(self, pod: PodChange) -> _Wanted:
        waiting = self._wanted.get(pod.key)
        if waiting is not None and waiting.uid == pod.uid:
            return waiting
        return _Wanted(pod.namespace, pod.name, pod.uid)

    def _want(self, wanted: _Wanted, key: str) -> None:
        self._wanted[key] = wanted
        self._wakened.set()

    async def _work(self) -> None:
        while True:
            while not self._wanted:
                self._wakened.clear()
                await self._wakened.wait()
            key = next((key for key in self._wanted if key not in self._writing), None)
            if key is None:  # one at a time for a pod, or the older could come last
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            wanted = self._wanted.pop(key)
            self._writing.add(key)
            try:
                await self._write(wanted)
            except _GONE as error:
                _log.debug("status not written pod=%s: %s", key, error)
            except (Forbidden, Unauthorized) as error:
                _log.debug("status not written pod=%s: %s", key, error)
                self._said.pop(key, None)  # to be said again at the next attempt
            except ApiError as error:
                _log.debug("status will be written again pod=%s: %s", key, error)
                await asyncio.sleep(_RETRY_SECONDS)
                if key not in self._wanted and self._said.get(key, ("",))[0] == wanted.uid:
                    self._want(wanted, key)
            except Exception:  # noqa: BLE001 (one status must not end the worker)
                _log.exception("status not written pod=%s", key)
                self._said.pop(key, None)
            finally:
                self._writing.discard(key)

    async def _write(self, wanted: _Wanted) -> None:
        conditions = [] if wanted.condition is None else [wanted.condition]
        await writes.patch_pod_status(
            self._client, wanted.namespace, wanted.name, wanted.uid, conditions, wanted.nominated_node
        )
