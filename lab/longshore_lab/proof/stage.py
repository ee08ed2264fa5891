"""The objects of one case after the other on a real API server: put there, read back, and cleared away quickly."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.kube.errors import ApiError, NotFound
from longshore.kube.resources import RESOURCES, Resource
from longshore_lab.proof.live_case import Json, LiveCase, collection, path

_AT_ONCE = 16
_MERGE = "application/merge-patch+json"
_AT_ONCE_GONE = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Background",
}
_PROTECTED = ("PersistentVolume", "PersistentVolumeClaim")


class RefusedError(Exception):
    """The API server does not take an object of the case."""


class Stage:
    """Where cases are put."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._there: list[Json] = []

    async def put(self, case: LiveCase) -> None:
        """Write everything around the pod to place.

        Raises:
            RefusedError: the server does not take something; what is there already is cleared by `clear`.
        """
        self._there = list(case.objects)
        pods = [thing for thing in case.objects if thing["kind"] == "Pod"]
        others = [thing for thing in case.objects if thing["kind"] != "Pod"]
        for group in (others, pods):
            await self._each(group, lambda thing: self._client.request("POST", collection(thing), body=thing))
        await self._each(case.statuses, self._write_status)
        await self._each(case.terminating, lambda thing: self._client.request("DELETE", path(thing)))

    async def create(self, pod: Json) -> Json:
        """Create the pod to place and return it as the server has it.

        Raises:
            RefusedError: the server does not take it.
        """
        try:
            answer: Json = msgspec.json.decode(await self._client.request("POST", collection(pod), body=pod))
        except ApiError as error:
            raise _refused(pod, error) from error
        return answer

    async def get(self, thing: Json) -> Json:
        """Return an object as the server has it now."""
        answer: Json = msgspec.json.decode(await self._client.request("GET", path(thing)))
        return answer

    async def remove(self, thing: Json) -> None:
        """Delete an object at once, also one that is protected; one that is not there is fine."""
        try:
            if thing["kind"] in _PROTECTED:  # by controllers that do not run here
                body = b'{"metadata":{"finalizers":null}}'
                await self._client.request("PATCH", path(thing), body=body, content_type=_MERGE)
            await self._client.request("DELETE", path(thing), body=_AT_ONCE_GONE)
        except NotFound:
            return

    async def clear(self) -> None:
        """Delete everything that `put` wrote."""
        there, self._there = self._there, []
        await _at_once(self.remove(thing) for thing in there)

    async def read(self) -> list[Json]:
        """Return all objects that scheduling reads, as the server has them now."""
        lists = await asyncio.gather(*(self._list(resource) for resource in RESOURCES))
        return [item for items in lists for item in items]

    async def _list(self, resource: Resource) -> list[Json]:
        answer = msgspec.json.decode(await self._client.request("GET", resource.path))
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [head | item for item in answer["items"] or ()]

    async def _write_status(self, thing: Json) -> None:
        body = msgspec.json.encode({"status": thing["status"]})
        await self._client.request("PATCH", f"{path(thing)}/status", body=body, content_type=_MERGE)

    async def _each(self, things: Iterable[Json], work: Any) -> None:
        async def one(thing: Json) -> None:
            try:
                await work(thing)
            except ApiError as error:
                raise _refused(thing, error) from error

        await _at_once(one(thing) for thing in things)


async def _at_once(works: Iterable[Any]) -> None:
    """Do things side by side, some at a time; the first error is raised when all are through."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def within(work: Any) -> None:
        async with limit:
            await work

    for result in await asyncio.gather(*map(within, works), return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _refused(thing: Json, error: ApiError) -> Exception:
    """Return what to raise: a server that fails is no verdict about the object."""
    if not 400 <= error.status < 500 or error.status in (401, 409, 429):
        return error
    return RefusedError(f"{thing['kind']} {thing['metadata']['name']}: {error.message}")
