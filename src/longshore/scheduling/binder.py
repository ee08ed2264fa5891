"""Binding so that no pod is bound twice and none is lost, whatever the API server answers or does not answer.

Where an answer was lost the pod is read before it is bound again: it may be bound already. A binding names the pod's
UID, so the server itself refuses one for a pod that was made anew, and one for a pod that has a node.

A binding ends at its deadline, whatever the server does: a webhook that fails every binding must not hold up others.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from longshore.core.words.pod import Pod
from longshore.kube import writes
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, NotFound, TooManyRequests, Unreachable
from longshore.scheduling.points import AFTER_BIND, BEFORE_BIND, Pass, go_on

DEADLINE_SECONDS = 15.0
"""After so long a binding is not tried again; the request that is under way then has its own time-out."""
_FIRST_WAIT_SECONDS = 0.1
_MOST_WAIT_SECONDS = 5.0


class Fate(Enum):
    """What became of a binding."""

    BOUND = "bound"
    LOST = "lost"
    """The pod is gone, being deleted, another one of its name, or bound to another node."""
    WITHDRAWN = "withdrawn"
    """Nothing was sent: the node is gone, or the pod, or this process no longer leads."""
    REFUSED = "refused"
    """The pod is there and is not bound."""
    IN_DOUBT = "in doubt"
    """The pod may be bound: the server said neither yes nor no, and could not be asked until the deadline."""


@dataclass(frozen=True, slots=True)
class BindResult:
    """The end of a binding."""

    fate: Fate
    message: str = ""
    """What the server said where it refused, or where the pod is."""


@dataclass(frozen=True)
class Binder:
    """Binds pods."""

    client: Client
    may_bind: Callable[[Pod], bool]
    """Asked right before every call: whether the pod is still to go to its node (`bound_to`)."""
    failpoint: Pass = go_on
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    timeout_seconds: float = 10.0
    """Of one request."""

    async def bind(self, pod: Pod, annotations: Mapping[str, str] | None = None) -> BindResult:
        """Bind a pod to the node that it is assumed on, and find out what became of it."""
        ends, waits = self.clock() + DEADLINE_SECONDS, _waits()
        while True:
            if not self.may_bind(pod):
                return BindResult(Fate.WITHDRAWN)
            try:
                await self._send(pod, annotations)
                return BindResult(Fate.BOUND)
            except NotFound as error:
                return BindResult(Fate.LOST, error.message)
            except Conflict:
                refused = BindResult(Fate.REFUSED, "the API server saw a conflict, and the pod is not bound")
                return await self._find_out(pod, ends) or refused
            except ApiError as error:
                refused, asked_for = BindResult(Fate.REFUSED, error.message), _retry_after(error)
                if error.may_have_happened:
                    found = await self._find_out(pod, ends)
                    if found is not None:
                        return found
                elif not isinstance(error, Unreachable | TooManyRequests):
                    return refused
            wait = max(next(waits), asked_for)
            if self.clock() + wait >= ends:
                return refused
            await self.sleep(wait)

    async def _find_out(self, pod: Pod, ends: float) -> BindResult | None:
        """Ask where the pod is until the server says it; None = it is there and waits."""
        waits = _waits()
        while True:
            try:
                return await self._read(pod)
            except NotFound as error:
                return BindResult(Fate.LOST, error.message)
            except ApiError as error:  # also 403: a server that starts refuses everybody for a moment
                wait = max(next(waits), _retry_after(error))
                if self.clock() + wait >= ends:
                    return BindResult(Fate.IN_DOUBT, error.message)
            await self.sleep(wait)

    async def _send(self, pod: Pod, annotations: Mapping[str, str] | None) -> None:
        self.failpoint(BEFORE_BIND)
        await writes.bind(
            self.client,
            pod.namespace,
            pod.name,
            pod.uid,
            pod.bound_to,
            annotations,
            timeout_seconds=self.timeout_seconds,
        )
        self.failpoint(AFTER_BIND)

    async def _read(self, pod: Pod) -> BindResult | None:
        """Ask the server itself where the pod is; None = it is there and waits."""
        where = (self.client, pod.namespace, pod.name)
        found = await writes.read_pod(*where, timeout_seconds=self.timeout_seconds)
        if found.metadata.uid != pod.uid:
            return BindResult(Fate.LOST, "it is another pod of the same name by now")
        if found.spec.node_name:
            is_ours = found.spec.node_name == pod.bound_to
            return BindResult(Fate.BOUND if is_ours else Fate.LOST, f"it is bound to {found.spec.node_name}")
        if found.metadata.deletion_timestamp is not None:
            return BindResult(Fate.LOST, "it is being deleted")
        return None


def _waits() -> Iterator[float]:
    wait = _FIRST_WAIT_SECONDS
    while True:
        yield wait
        wait = min(2 * wait, _MOST_WAIT_SECONDS)


def _retry_after(error: ApiError) -> float:
    return (error.retry_after or 0.0) if isinstance(error, TooManyRequests) else 0.0
