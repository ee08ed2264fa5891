"""Keep up with one resource of the API server: list it, watch it, and start again where that is needed.

What is given out are batches of events. A list, the first or a later one, comes in pieces between `LIST_BEGINS` and
`LIST_ENDS`: `kube.cache` holds each piece against what it has, so that nothing has to stay in memory twice.

The watch goes on from the last version seen after a connection is lost. It starts with a new list where the server no
longer has that history (410), or where what came cannot be read. Numbers without a source are client-go's.
"""

import asyncio
import contextlib
import enum
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube import errors, wire
from longshore.kube.client import Client
from longshore.kube.resources import Resource

_log = logging.getLogger(__name__)

PAGE_SIZE = 500
IDLE_SECONDS = 120.0
"""A quiet watch gets a bookmark about every minute: a stream on which nothing came for two has frozen."""
LIST_TIMEOUT_SECONDS = 60.0
_MIN_WATCH_SECONDS, _MAX_WATCH_SECONDS = 300, 600
_BACKOFF_FIRST_SECONDS, _BACKOFF_MOST_SECONDS = 0.8, 30.0
# A server to which no connection is made has no load from another try, and is soon back after a restart.
_BACKOFF_MOST_UNCONNECTED_SECONDS = 2.0
# A resource on which nothing happens shows by its silence that the server is well.
_BACKOFF_FORGOTTEN_SECONDS = 120.0
_SHORT_WATCH_SECONDS = 1.0
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Body = TypeVar("Body")


class Stage(enum.Enum):
    """Where in the life of a watch a batch stands."""

    LIST_BEGINS = enum.auto()
    LIST = enum.auto()
    LIST_ENDS = enum.auto()
    """All objects have been given out since `LIST_BEGINS`: what was not among them is gone."""
    WATCH = enum.auto()


class Unreadable(NamedTuple):
    """An object that does not have the fields of its kind."""

    metadata: wire.ObjectVersion
    reason: str


class Event(NamedTuple):
    """What happened to one object; `kind` is `ADDED`, `MODIFIED` or `DELETED`."""

    kind: str
    object: Any
    """An object of the resource's type, or an `Unreadable`."""


class WatchBatch(NamedTuple):
    """Events of one resource, in the order in which they came."""

    resource: Resource
    stage: Stage
    events: list[Event] = []  # noqa: RUF012 (never changed)
    resource_version: str = ""
    """Of a list that ends, and of a watch's bookmark: all that happened up to it has been given out."""


class BrokenStreamError(LongshoreError):
    """What the server sent cannot be read, so it is not known what was missed."""


class _WatchEvent(msgspec.Struct, Generic[Body], gc=False):
    type: str
    object: Body


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, Generic[Body], gc=False):
    metadata: _ListMeta
    items: list[Body] | None = None


class Reflector:
    """Lists and watches one resource for as long as `run` runs."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        deliver: Callable[[WatchBatch], None],
        *,
        page_size: int = PAGE_SIZE,
        idle_seconds: float = IDLE_SECONDS,
        lists_by_stream: bool = True,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        """Set when the first list has been given out whole."""
        self._client = client
        self._deliver = deliver
        self._page_size = page_size
        self._idle_seconds = idle_seconds
        self._lists_by_stream = lists_by_stream
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._now = now
        self._version: str | None = None
        self._heard_at = now()
        self._was_away = False
        self._failures = 0
        self._failed_at = float("-inf")
        self._last_error: LongshoreError | None = None
        self._decode_event = msgspec.json.Decoder(_WatchEvent[resource.body]).decode  # type: ignore[name-defined]
        self._decode_page = msgspec.json.Decoder(_Page[resource.body]).decode  # type: ignore[name-defined]

    @property
    def silent_seconds(self) -> float:
        """How long the server has said nothing about this resource, not even that nothing happens (a bookmark)."""
        return self._now() - self._heard_at

    async def run(self) -> None:
        """List and watch for ever.

        Raises:
            Unauthorized, Forbidden, NoCredentials: the resource could not even be listed once, and will not be.
        """
        while True:
            try:
                await self._list_and_watch()
            except (errors.Unauthorized, errors.Forbidden, errors.NoCredentials) as error:
                if not self.synced.is_set():
                    raise
                await self._back_off(error)
            except (errors.ApiError, BrokenStreamError) as error:
                self._was_away = self._was_away or isinstance(error, errors.Unreachable)
                if not _can_resume(error):
                    self._version = None
                await self._back_off(error)

    async def _list_and_watch(self) -> None:
        if self._version is not None and self._was_away:
            await self._check_version(self._version)
        if self._version is None and not self._lists_by_stream:
            await self._list()
        began, is_list = self._now(), self._version is None
        try:
            num_lines = await self._watch()
        except errors.ApiError as error:
            # Older servers, and those without the feature, do not know the parameter and say so.
            if is_list and self._version is None and error.status in (400, 422):
                self._lists_by_stream = False
                return
            raise
        if num_lines == 0 and self._now() - began < _SHORT_WATCH_SECONDS:
            raise errors.Unreachable(f"the watch of {self.resource.name} ended at once and without an event")

    async def _check_version(self, version: str) -> None:
        """Start anew if the store was set back while the server was away: a watch from our version would be silent."""
        page = await self._page({"limit": "1"})
        self._was_away = False
        if _is_older(page.metadata.resource_version, version):
            _log.warning(
                "resource=%s: its versions went back to %s", self.resource.name, page.metadata.resource_version
            )
            self._version = None

    async def _page(self, query: dict[str, str]) -> _Page[Any]:
        if self.resource.field_selector:
            query = {**query, "fieldSelector": self.resource.field_selector}
        path = self.resource.path
        body = await self._client.request("GET", path, query=query, timeout_seconds=LIST_TIMEOUT_SECONDS)
        self._heard_at = self._now()
        return self._read_page(body)

    async def _list(self) -> None:
        """Read the list page by page; all pages are of one moment."""
        self._deliver(WatchBatch(self.resource, Stage.LIST_BEGINS))
        query = {"limit": str(self._page_size)}
        while True:
            page = await self._page(query)
            self._deliver(WatchBatch(self.resource, Stage.LIST, [Event("ADDED", item) for item in page.items or ()]))
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        self._end_list(page.metadata.resource_version)

    async def _watch(self) -> int:
        """Watch from the last version, or from a list in the stream itself; return how many lines came."""
        seconds = self._rng.randint(_MIN_WATCH_SECONDS, _MAX_WATCH_SECONDS)
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if self.resource.field_selector:
            query["fieldSelector"] = self.resource.field_selector
        if self._version is None:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = self._version
        num_lines, has_begun = 0, self._version is not None
        stream = self._client.stream(self.resource.path, query, idle_seconds=self._idle_seconds)
        try:
            async with contextlib.aclosing(stream):  # type: ignore[type-var]
                async for lines in stream:
                    if not has_begun:
                        self._deliver(WatchBatch(self.resource, Stage.LIST_BEGINS))
                        has_begun = True
                    num_lines += len(lines)
                    self._heard_at = self._now()
                    self._take(lines)
                    if self._version is not None:
                        self._failures, self._last_error = 0, None
        except errors.Silent:
            if num_lines == 0:
                # A healthy server sends a bookmark. One whose store was set back knows no version as late as ours,
                # and waits for it without a word.
                self._version = None
            raise
        return num_lines

    def _take(self, lines: list[bytes]) -> None:
        """Give out the events of some lines; also those before a line that ends the watch."""
        events: list[Event] = []
        try:
            for line in lines:
                if not line:
                    continue
                kind, body = self._read_event(line)
                if kind == "BOOKMARK":
                    self._flush(events)
                    events = []
                    self._take_bookmark(body.metadata)
                    continue
                events.append(Event(kind, body))
        finally:
            self._flush(events)

    def _flush(self, events: list[Event]) -> None:
        if not events:
            return
        if self._version is None:
            self._deliver(WatchBatch(self.resource, Stage.LIST, events))
            return
        version = events[0].object.metadata.resource_version
        if _is_older(version, self._version):
            self._went_back(version)
        self._deliver(WatchBatch(self.resource, Stage.WATCH, events))
        self._version = events[-1].object.metadata.resource_version

    def _take_bookmark(self, metadata: wire.ObjectMeta) -> None:
        version = metadata.resource_version
        if self._version is None:
            if (metadata.annotations or {}).get(_INITIAL_EVENTS_END) == "true":
                self._end_list(version)
            return
        if _is_older(version, self._version):
            self._went_back(version)
        self._version = version
        self._deliver(WatchBatch(self.resource, Stage.WATCH, resource_version=version))

    def _went_back(self, version: str) -> NoReturn:
        """The store was set back (a backup): what we hold may not exist in it."""
        self._version = None
        raise BrokenStreamError(f"the versions of {self.resource.name} went back to {version}")

    def _end_list(self, version: str) -> None:
        self._version, self._was_away = version, False
        self._deliver(WatchBatch(self.resource, Stage.LIST_ENDS, resource_version=version))
        self.synced.set()

    def _read_event(self, line: bytes) -> tuple[str, Any]:
        try:
            event = self._decode_event(line)
        except msgspec.ValidationError as error:
            return self._read_odd_event(line, error)
        except wire.UNREADABLE as error:
            raise BrokenStreamError(f"a line of the watch of {self.resource.name} is not JSON: {error}") from error
        if event.type in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
            return event.type, event.object
        return self._read_odd_event(line, None)

    def _read_odd_event(self, line: bytes, why: msgspec.ValidationError | None) -> tuple[str, Any]:
        """Read an event whose object is no object of the resource: an error, or one that cannot be read."""
        try:
            event = msgspec.json.decode(line, type=_WatchEvent[msgspec.Raw])
            if event.type == "ERROR":
                status = msgspec.json.decode(event.object, type=errors.Status)
                raise errors.from_status(status, f"GET {self.resource.path}?watch=1")
            if why is not None:
                return event.type, _unreadable(event.object, why)
        except wire.UNREADABLE as error:
            raise BrokenStreamError(f"an event of {self.resource.name} cannot be read: {error}") from error
        raise BrokenStreamError(f"a watch of {self.resource.name} sent the unknown event `{event.type}`")

    def _read_page(self, body: bytes) -> _Page[Any]:
        try:
            page: _Page[Any] = self._decode_page(body)
        except msgspec.ValidationError:
            return self._read_odd_page(body)
        except wire.UNREADABLE as error:
            raise BrokenStreamError(f"a list of {self.resource.name} is not JSON: {error}") from error
        return page

    def _read_odd_page(self, body: bytes) -> _Page[Any]:
        """Read what can be read of a page on which an object does not have the fields of its kind."""
        try:
            raw = msgspec.json.decode(body, type=_Page[msgspec.Raw])
            return _Page(raw.metadata, [self._read_item(item) for item in raw.items or ()])
        except wire.UNREADABLE as error:
            raise BrokenStreamError(f"a list of {self.resource.name} cannot be read: {error}") from error

    def _read_item(self, item: msgspec.Raw) -> Any:
        try:
            return msgspec.json.decode(item, type=self.resource.body)
        except msgspec.ValidationError as error:
            return _unreadable(item, error)

    async def _back_off(self, error: LongshoreError) -> None:
        if self._now() - self._failed_at > _BACKOFF_FORGOTTEN_SECONDS:
            self._failures, self._last_error = 0, None
        is_unconnected = _is_unconnected(error)
        if _is_unconnected(self._last_error) and not is_unconnected:
            self._failures = 0  # it is back; one that has just started refuses everybody for a moment
        most = _BACKOFF_MOST_UNCONNECTED_SECONDS if is_unconnected else _BACKOFF_MOST_SECONDS
        # The exponent is bounded, as years without a server must not overflow it.
        wait = min(_BACKOFF_FIRST_SECONDS * 2.0 ** min(self._failures, 16), most)
        wait *= 1.0 + self._rng.random()
        if isinstance(error, errors.Gone) and not isinstance(self._last_error, errors.Gone):
            wait = 0.0  # nothing is wrong with the server: it only keeps no longer history
        if isinstance(error, errors.TooManyRequests) and error.retry_after is not None:
            wait = max(wait, min(error.retry_after, _BACKOFF_MOST_SECONDS))
        self._failures, self._last_error = self._failures + 1, error
        _log.info("resource=%s failures=%d wait_seconds=%.1f: %s", self.resource.name, self._failures, wait, error)
        await self._sleep(wait)
        self._failed_at = self._now()


async def run_reflectors(reflectors: Iterable[Reflector]) -> None:
    """Run reflectors side by side until one cannot go on; its error is raised, and the others end.

    Raises:
        Unauthorized, Forbidden, NoCredentials: a resource could not even be listed once.
    """
    tasks = [asyncio.create_task(reflector.run(), name=f"watch {reflector.resource.name}") for reflector in reflectors]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _can_resume(error: LongshoreError) -> bool:
    """Say whether the watch can go on from the version that it had: the server may only have been away or busy.

    A server that answers 504 to a watch knows only older versions than ours; anything else in the 4xx is about what
    was asked.
    """
    if not isinstance(error, errors.ApiError):
        return False
    if isinstance(error, errors.Unreachable | errors.TooManyRequests | errors.Unauthorized | errors.Forbidden):
        return True
    return error.status >= 500 and error.status != 504


def _is_unconnected(error: LongshoreError | None) -> bool:
    return isinstance(error, errors.Unreachable) and not error.was_sent


def _unreadable(item: msgspec.Raw, why: msgspec.ValidationError) -> Unreadable:
    return Unreadable(msgspec.json.decode(item, type=wire.Envelope).metadata, str(why))


def _is_older(version: str, than: str) -> bool:
    return version.isdigit() and than.isdigit() and int(version) < int(than)
