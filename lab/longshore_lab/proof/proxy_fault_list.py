"""What the fault proxy does to the requests of a scheduler, one row each; the same rows for every scheduler."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Final

from longshore_lab.proof.api_call import Calls
from longshore_lab.proof.disturbances import (
    AnswerCut,
    AnswerLost,
    Disturbance,
    Garbage,
    HistoryGone,
    Refused,
    Reset,
    Silent,
    Slow,
    Standstill,
    Truncated,
)
from longshore_lab.proof.fault_proxy import FaultProxy
from longshore_lab.proof.load import create_pods, make_pods
from longshore_lab.proof.pod_watch import watching
from longshore_lab.proof.scene import Happened, Scene

EVERYTHING: Final = Calls()
BINDINGS: Final = Calls(("create",), "pods", "binding")
LEASES: Final = Calls(resource="leases")
PODS: Final = Calls(resource="pods")
"""With their bindings and conditions."""
WATCHES: Final = Calls(("watch",))
POD_WATCH: Final = Calls(("watch",), "pods")
NODE_WATCH: Final = Calls(("watch",), "nodes")


_BATCH_SECONDS = 0.25
_FIRST_SECONDS = 5.0
STANDSTILL_SECONDS: Final = 60.0
"""After so long somebody looks why pods wait."""


Fault = Callable[[Scene, FaultProxy], Awaitable[Happened]]


def _while_disturbed(
    disturb: Callable[[], tuple[Disturbance, ...]], cuts: Calls | None = None, seconds: float = 5.0
) -> Fault:
    """Return the fault that requests are disturbed while half of the pods is on its way and the others come.

    Args:
        disturb: makes what is done to them.
        cuts: watches that are reset when it begins, and so disturbed when they are asked for again.
        seconds: how long.
    """

    async def fault(scene: Scene, proxy: FaultProxy) -> Happened:
        half, disturbances = scene.num_pods // 2, disturb()
        coming = asyncio.create_task(scene.create(0, half))
        try:
            await scene.all_bound(scene.num_pods // 10)
            scene.strike()
            with contextlib.ExitStack() as stack:
                for each in disturbances:
                    stack.enter_context(proxy.disturbed(each))
                    if each is not disturbances[-1]:  # else the next one keeps it from happening at all
                        await _until_done(each)
                if cuts is not None:
                    proxy.cut(cuts)
                await coming
                await _create_until(scene, half, scene.struck_at + seconds)
            scene.is_back()
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        return Happened(min(each.count for each in disturbances), scene.num_bound_since())

    return fault


async def _until_done(disturbance: Disturbance) -> None:
    """Wait until something has been done to a request at all, but not for ever."""
    ends = time.monotonic() + _FIRST_SECONDS
    while not disturbance.count and time.monotonic() < ends:
        await asyncio.sleep(0.01)


async def _create_until(scene: Scene, first: int, ends: float) -> None:
    """Create the other pods evenly until a moment, the last ones shortly before."""
    while (left := ends - time.monotonic()) > 0:
        num_batches = max(round(left / _BATCH_SECONDS), 1)
        end = first + -(-(scene.num_pods - first) // num_batches)
        await scene.create(first, end)
        first = end
        await asyncio.sleep(min(_BATCH_SECONDS, max(ends - time.monotonic(), 0.0)))
    await scene.create(first, scene.num_pods)


async def _set_back(scene: Scene, _proxy: FaultProxy) -> Happened:
    """Restore a backup: pods that were bound later wait again, and others have never been, and are created anew."""
    third, cluster = scene.num_pods // 3, scene.cluster
    await scene.create(0, third)
    await scene.all_bound(third // 2)
    copy = await asyncio.to_thread(cluster.back_up)
    await scene.create(third, 2 * third)
    await scene.all_bound(2 * third)
    num_before = scene.num_bound
    scene.strike()
    await asyncio.to_thread(cluster.restore, copy)
    scene.is_back()
    scene.watch = await scene.open_until_the_end.enter_async_context(watching(scene.client))
    num_bound = scene.num_bound
    scene.num_waiting = scene.num_pods - num_bound
    scene.uids = await create_pods(scene.client, make_pods(scene.num_pods, scene.namespace))
    return Happened(num_before - num_bound, scene.num_bound_since())


FAULTS: Final[dict[str, Fault]] = {
    "every request and event 300 ms late": _while_disturbed(lambda: (Slow(EVERYTHING, seconds=0.3),)),
    "all connections reset": _while_disturbed(lambda: (Reset(EVERYTHING),)),
    "half-open: nothing is answered": _while_disturbed(lambda: (Silent(EVERYTHING),)),
    "429 for everything, Retry-After 2": _while_disturbed(
        lambda: (Refused(EVERYTHING, status=429, retry_after=2),), cuts=WATCHES
    ),
    "500 for every binding": _while_disturbed(lambda: (Refused(BINDINGS),)),
    "403 for everything about pods": _while_disturbed(lambda: (Refused(PODS, status=403),), cuts=POD_WATCH),
    "403 for nodes": _while_disturbed(lambda: (Refused(Calls(resource="nodes"), status=403),), cuts=NODE_WATCH),
    "410 for every watch": _while_disturbed(lambda: (HistoryGone(WATCHES),), cuts=WATCHES),
    "watch of pods stands still": _while_disturbed(lambda: (Standstill(POD_WATCH),)),
    "garbage for one answer in three": _while_disturbed(lambda: (Garbage(EVERYTHING, one_in=3),)),
    "one answer in three ends half-way": _while_disturbed(lambda: (Truncated(EVERYTHING, one_in=3),)),
    "answers of bindings cut off": _while_disturbed(lambda: (AnswerCut(BINDINGS),)),
    "answers of bindings never come": _while_disturbed(lambda: (AnswerLost(BINDINGS),)),
    "the same, and the watch of pods stands still": _while_disturbed(
        lambda: (AnswerLost(BINDINGS), Standstill(POD_WATCH))
    ),
    "etcd set back to an older revision": _set_back,
    # Longer than the 10 s after which a leader steps down.
    "renewals of the lease are not answered": _while_disturbed(lambda: (Silent(LEASES),), seconds=13.0),
}
