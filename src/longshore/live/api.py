"""What the lab asks of a local cluster's API server, through `kube`'s client, from code that is not asynchronous."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError, Conflict

Result = TypeVar("Result")
_CONCURRENCY = 40
"""More clients at once create no more objects a second on a small machine."""


def call(kubeconfig: Path, work: Callable[[Client], Awaitable[Result]]) -> Result:
    """Do some work with a client and return its result.

    In a thread of its own, so that it can also be called where an event loop runs already, as in asynchronous tests.
    Ctrl-C, which only the main thread hears of, cancels the work.
    """
    cancels: list[Callable[[], object]] = []

    async def connected() -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancels.append(lambda: loop.call_soon_threadsafe(task.cancel))
        async with Client(load_identity(kubeconfig)) as client:
            return await work(client)

    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            return pool.submit(asyncio.run, connected()).result()
        except KeyboardInterrupt:
            for cancel in cancels:
                with contextlib.suppress(RuntimeError):  # it is over
                    cancel()
            raise


async def create_all(client: Client, objects: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Create objects, each given with the path of its collection; one that is there already is left as it is.

    Raises:
        ApiError: the first refusal of another kind; what was not asked for by then is not created.
    """
    waiting = iter(objects)

    async def worker() -> None:
        for path, content in waiting:
            try:
                await client.request("POST", path, body=content)
            except Conflict:
                continue

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_CONCURRENCY):
                group.create_task(worker())
    except BaseExceptionGroup as refusals:
        raise refusals.exceptions[0] from None


async def answers(client: Client, path: str) -> bool:
    """Say whether the API server answers a path with success."""
    try:
        await client.request("GET", path, timeout_seconds=5.0)
    except ApiError:
        return False
    return True


async def until(condition: Callable[[], Awaitable[bool]], seconds: float, poll_seconds: float = 0.05) -> bool:
    """Wait until something is so; return False if it is not in time."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(poll_seconds)
    return True
