"""Leader election by a Lease, as client-go does it: of several replicas one decides, and another takes over.

Times written in the lease are not believed: how long a holder has been silent is measured by our own clock from the
moment at which we saw the lease change. So clocks may differ between machines; they only have to run equally fast.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube import errors
from longshore.kube.client import Client
from longshore.kube.writes import micro_time

_log = logging.getLogger(__name__)

LEASE_SECONDS, RENEW_DEADLINE_SECONDS, RETRY_SECONDS = 15.0, 10.0, 2.0
"""How long others wait for a silent holder, how long a holder tries to renew before it steps down, and how often."""
_JITTER = 1.2
_EXPIRY_SPREAD_SECONDS = 0.2
"""So far apart do candidates come who all wait for the same silent holder."""


class LeadershipLostError(LongshoreError):
    """The lease could not be renewed in time, or somebody else has it: whoever led must stop at once."""


class _Record(NamedTuple):
    """What the lease says; it is compared as a whole to see whether its holder is alive."""

    holder: str = ""
    seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: dict[str, Any]
    spec: _LeaseSpec | None = None


class LeaderElection:
    """One candidate for one lease."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_seconds: float = LEASE_SECONDS,
        renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        if not lease_seconds > renew_deadline_seconds > _JITTER * retry_seconds > 0:
            raise ValueError("a lease must outlast the renewal's deadline, and that its retries")
        self.identity = identity
        self.described = f"{namespace}/{name}"
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._meta: dict[str, Any] = {"name": name, "namespace": namespace}
        self._path = f"{self._collection}/{name}"
        self._lease_seconds = lease_seconds
        self._renew_deadline_seconds = renew_deadline_seconds
        self._retry_seconds = retry_seconds
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._monotonic = monotonic
        self._wall = wall
        self._observed = _Record()
        self._observed_at = float("-inf")
        self._unanswered: dict[str, float] = {}
        """Writes of ours of which nobody knows whether they took effect: their renewal time and when they were sent."""

    @property
    def holder(self) -> str:
        """Who led when we looked last; empty when nobody did."""
        return self._observed.holder

    @property
    def is_leader(self) -> bool:
        """Say whether we hold the lease, as far as we know and until it may have run out."""
        return self._observed.holder == self.identity and self._is_valid()

    async def look(self) -> None:
        """Read the lease, so that the time of a silent holder runs from now on; whatever is wrong shows later."""
        try:
            self._observe(await self._client.request("GET", self._path, timeout_seconds=self._renew_deadline_seconds))
        except errors.ApiError as error:
            _log.info("lease=%s: not read: %s", self.described, error)

    async def acquire(self) -> None:
        """Wait until we lead; a silent holder's lease is taken as soon as it has run out.

        Raises:
            Unauthorized, Forbidden: we have no right to the lease, and waiting does not help.
        """
        while not await self._try_again():
            wait = self._retry_seconds * (1.0 + _JITTER * self._rng.random())
            left = self._observed_at + self._observed.seconds - self._monotonic()
            if self._observed.holder and left > 0:
                wait = min(wait, left + _EXPIRY_SPREAD_SECONDS * self._rng.random())
            await self._sleep(wait)
        _log.info("lease=%s leader=%s: acquired", self.described, self.identity)

    async def _try_again(self) -> bool:
        """Try once; who could read the lease before is only refused for as long as a server starts."""
        try:
            return await self.try_acquire()
        except (errors.Unauthorized, errors.Forbidden) as error:
            if self._observed_at == float("-inf"):
                raise
            _log.info("lease=%s: not acquired: %s", self.described, error)
            return False

    async def try_acquire(self) -> bool:
        """Try once to take the lease or to renew it; say whether we lead.

        Raises:
            Unauthorized, Forbidden: we have no right to the lease.
        """
        try:
            return await self._take(self._renew_deadline_seconds / 2)
        except (errors.Unauthorized, errors.Forbidden):
            raise
        except errors.ApiError as error:
            _log.info("lease=%s: not acquired: %s", self.described, error)
            return False

    async def hold(self) -> None:
        """Renew the lease until that fails; cancel to stop, then `release`.

        Raises:
            LeadershipLostError: we lead no longer.
        """
        while True:
            await self._sleep(self._retry_seconds)
            await self._renew()

    async def release(self) -> None:
        """Give the lease back, so that another need not wait for it to run out."""
        if self._observed.holder != self.identity:
            return
        now = micro_time(self._wall())
        try:
            await self._update(_Record("", 1, now, now, self._observed.transitions), self._renew_deadline_seconds)
        except errors.ApiError as error:  # it runs out by itself
            _log.info("lease=%s: not released: %s", self.described, error)
            self._observed = _Record()

    async def _renew(self) -> None:
        deadline = self._monotonic() + self._renew_deadline_seconds
        reason = "nobody answered"
        while (left := deadline - self._monotonic()) > 0:
            try:
                # As client-go: one request that hangs must leave time for another.
                if await self._take(min(left, self._renew_deadline_seconds / 2)):
                    return
                # Whoever was held up for long (SIGSTOP, a machine that slept) finds a successor that decides by now.
                raise LeadershipLostError(
                    f"the lease `{self.described}` could not be renewed: `{self._observed.holder}` holds it"
                )
            except errors.ApiError as error:
                reason = error.message
            await self._sleep(min(self._retry_seconds, max(deadline - self._monotonic(), 0.0)))
        self._observed = _Record()
        raise LeadershipLostError(
            f"the lease `{self.described}` could not be renewed within {self._renew_deadline_seconds:g} s: {reason}"
        )

    async def _take(self, timeout_seconds: float) -> bool:
        now = micro_time(self._wall())
        wanted = _Record(self.identity, round(self._lease_seconds), now, now, 0)
        if self.is_leader:
            try:  # as nobody else should have written, ours is the version that stands
                mine = wanted._replace(acquired=self._observed.acquired, transitions=self._observed.transitions)
                await self._update(mine, timeout_seconds)
                return True
            except (errors.Conflict, errors.NotFound):
                pass
        try:
            self._observe(await self._client.request("GET", self._path, timeout_seconds=timeout_seconds))
        except errors.NotFound:
            lease = self._lease(wanted, {"name": self._meta["name"], "namespace": self._meta["namespace"]})
            sent = self._sending(now)
            body = await self._client.request("POST", self._collection, body=lease, timeout_seconds=timeout_seconds)
            self._observe(body, sent)
            return True
        if self._observed.holder not in ("", self.identity) and self._is_valid():
            return False
        if self._observed.holder == self.identity:
            wanted = wanted._replace(acquired=self._observed.acquired, transitions=self._observed.transitions)
        else:
            wanted = wanted._replace(transitions=self._observed.transitions + 1)
        await self._update(wanted, timeout_seconds)
        return True

    async def _update(self, record: _Record, timeout_seconds: float) -> None:
        # With the version that we saw: if another candidate was faster, this is a conflict.
        lease, sent = self._lease(record, self._meta), self._sending(record.renewed)
        self._observe(await self._client.request("PUT", self._path, body=lease, timeout_seconds=timeout_seconds), sent)

    def _sending(self, renewed: str) -> float:
        """Take note of a write that is about to be sent; return the moment. Those that have run out are forgotten."""
        now = self._monotonic()
        self._unanswered = {key: at for key, at in self._unanswered.items() if at + self._lease_seconds > now}
        self._unanswered[renewed] = now
        return now

    def _lease(self, record: _Record, meta: dict[str, Any]) -> dict[str, Any]:
        spec = {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": record.seconds,
            "acquireTime": record.acquired,
            "renewTime": record.renewed,
            "leaseTransitions": record.transitions,
        }
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}

    def _observe(self, body: bytes, written_at: float | None = None) -> None:
        """Take over what the lease says; our own time runs from when we sent it, that of others from when we see it.

        That is so too where we only read that a write of ours has arrived whose answer was lost: others may have seen
        it long before.
        """
        try:
            lease = msgspec.json.decode(body, type=_Lease)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.Garbled(self._path, error) from error
        spec = lease.spec or _LeaseSpec()
        found = _Record(
            spec.holder_identity or "",
            spec.lease_duration_seconds or 0,
            spec.acquire_time or "",
            spec.renew_time or "",
            spec.lease_transitions or 0,
        )
        kept = ("name", "namespace", "uid", "resourceVersion", "labels", "annotations")
        self._meta = {key: value for key, value in lease.metadata.items() if key in kept}
        if written_at is not None:
            self._unanswered.clear()
        elif found.holder == self.identity:
            written_at = self._unanswered.get(found.renewed, float("-inf"))
        if found != self._observed:
            self._observed, self._observed_at = found, self._monotonic() if written_at is None else written_at

    def _is_valid(self) -> bool:
        return self._observed_at + self._observed.seconds > self._monotonic()
