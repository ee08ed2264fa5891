"""Binding so that no pod is bound twice and none is lost, whatever the API server answers or does not answer.

Where an answer was lost the pod is read before it is bound again: it may be bound already. A binding names the pod's
UID, so the server itself refuses one for a pod that was made anew, and one for a pod that has a node.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from longshore.core.words.pod import Pod
from longshore.kube import writes
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, NotFound, TooManyRequests, Unreachable
from longshore.scheduling.failpoints import AFTER_BIND, BEFORE_BIND

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
    failpoint: Callable[[str], None] = lambda name: None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    timeout_seconds: float = 10.0

    async def bind(self, pod: Pod, annotations: Mapping[str, str] | None = None) -> BindResult:
        """Bind a pod to the node that it is assumed on, and do not give up before it is known what became of it."""
        wait, must_read, num_conflicts = _FIRST_WAIT_SECONDS, False, 0
        while True:
            try:
                if must_read:
                    found = await self._read(pod)
                    if found is not None:
                        return found
                    must_read = False
                    if num_conflicts:
                        return BindResult(Fate.REFUSED, "the API server saw a conflict, and the pod is not bound")
                if not self.may_bind(pod):
                    return BindResult(Fate.WITHDRAWN)
                await self._send(pod, annotations)
                return BindResult(Fate.BOUND)
            except NotFound as error:
                return BindResult(Fate.LOST, error.message)
            except Conflict:
                must_read, num_conflicts = True, num_conflicts + 1
                continue
            except TooManyRequests as error:
                wait = max(wait, error.retry_after or 0.0)
            except ApiError as error:
                if error.may_have_happened:
                    must_read = True
                # A server that starts refuses everybody for a moment: a read that is owed is made later.
                elif not must_read and not isinstance(error, Unreachable):
                    return BindResult(Fate.REFUSED, error.message)
            await self.sleep(wait)
            wait = min(2 * wait, _MOST_WAIT_SECONDS)

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
        found = await writes.read_pod(self.client, pod.namespace, pod.name)
        if found.metadata.uid != pod.uid:
            return BindResult(Fate.LOST, "it is another pod of the same name by now")
        if found.spec.node_name:
            is_ours = found.spec.node_name == pod.bound_to
            return BindResult(Fate.BOUND if is_ours else Fate.LOST, f"it is bound to {found.spec.node_name}")
        if found.metadata.deletion_timestamp is not None:
            return BindResult(Fate.LOST, "it is being deleted")
        return None
