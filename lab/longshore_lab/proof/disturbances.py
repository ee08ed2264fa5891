"""What a network or a busy server does to requests: each a class with a place before the request is passed on, one
when its answer is there, and one for every piece of an answer that has no end (a watch).
"""

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from longshore_lab.proof.api_call import ApiCall, Calls

_REASONS = {403: "Forbidden", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
NONSENSE = b'{"kind": "Status", "items": [{"metad\xff\n'


class Answer(NamedTuple):
    """What is sent back in the place of the server's answer."""

    status: int
    body: bytes
    headers: dict[str, str]


class CutOff(Exception):  # noqa: N818  # no error: it is what was asked for
    """The connection is to be reset, after these bytes of the answer."""

    def __init__(self, answer: Answer | None = None, sent: int = 0) -> None:
        super().__init__()
        self.answer, self.sent = answer, sent


class EndsHere(Exception):  # noqa: N818  # no error, either
    """A watch is to end in order after these bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.content = content


@dataclass(eq=False)
class Disturbance:
    """Does nothing to some requests; the others do more."""

    calls: Calls = field(default_factory=Calls)
    limit: float = float("inf")
    """So many requests, and no more."""
    one_in: int = 1
    """Every so many-th of the requests."""
    count: int = 0
    """Requests that it was done to."""

    def __post_init__(self) -> None:
        self.is_over = asyncio.Event()
        """Set when it is taken away."""
        self._turns = itertools.count(1)

    def takes(self, call: ApiCall) -> bool:
        """Say whether this is done to a request, and count it."""
        if not self.calls.has(call) or self.count >= self.limit or next(self._turns) % self.one_in:
            return False
        self.count += 1
        return True

    async def before(self) -> Answer | None:
        """Do it before the server hears of the request; an answer means that it never does."""
        return None

    async def after(self, answer: Answer) -> Answer:
        """Do it when the server has done the work; not for watches."""
        return answer

    async def piece(self, content: bytes) -> bytes:
        """Do it to a piece of a watch, also of one that was there before."""
        return content


@dataclass(eq=False)
class Slow(Disturbance):
    """Takes longer, every request and every piece of a watch."""

    seconds: float = 0.3

    async def before(self) -> Answer | None:
        """Wait."""
        await asyncio.sleep(self.seconds)
        return None

    async def piece(self, content: bytes) -> bytes:
        """Wait."""
        await asyncio.sleep(self.seconds)
        return content


@dataclass(eq=False)
class Reset(Disturbance):
    """Resets the connection (RST) before the server hears of the request."""

    async def before(self) -> Answer | None:
        """Reset."""
        raise CutOff

    async def piece(self, content: bytes) -> bytes:
        """Reset."""
        raise CutOff


@dataclass(eq=False)
class AnswerCut(Disturbance):
    """Resets the connection in the middle of the answer: the server has done the work."""

    async def after(self, answer: Answer) -> Answer:
        """Send half."""
        raise CutOff(answer, len(answer.body) // 2)


@dataclass(eq=False)
class Silent(Disturbance):
    """Takes the request and never answers, nor passes it on: half-open, black-holed. It is reset when this is over."""

    async def before(self) -> Answer | None:
        """Wait until it is over."""
        await self.is_over.wait()
        raise CutOff

    async def piece(self, content: bytes) -> bytes:
        """Wait until it is over."""
        await self.is_over.wait()
        raise CutOff


@dataclass(eq=False)
class AnswerLost(Disturbance):
    """Lets the server do the work, and the answer never comes."""

    async def after(self, answer: Answer) -> Answer:
        """Wait until it is over."""
        await self.is_over.wait()
        raise CutOff


@dataclass(eq=False)
class Refused(Disturbance):
    """Answers with an error in the server's place."""

    status: int = 500
    retry_after: int | None = None

    async def before(self) -> Answer | None:
        """Answer."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Answer(self.status, _status(self.status), headers)


@dataclass(eq=False)
class HistoryGone(Disturbance):
    """Ends watches as a server does that no longer has the history: by a line that says 410. A list then works."""

    async def before(self) -> Answer | None:
        """Answer with that line."""
        return Answer(200, _gone_line(), {})

    async def piece(self, content: bytes) -> bytes:
        """Reset a watch that is there; the next one is told."""
        raise CutOff


@dataclass(eq=False)
class Standstill(Disturbance):
    """Stops the bytes of watches; the connections stay, and what is held comes when this is over."""

    async def piece(self, content: bytes) -> bytes:
        """Wait until it is over."""
        await self.is_over.wait()
        return content


@dataclass(eq=False)
class Garbage(Disturbance):
    """Sends what nobody can read, in the place of a finished answer and in the middle of a watch."""

    async def after(self, answer: Answer) -> Answer:
        """Replace the body."""
        return answer._replace(body=NONSENSE)

    async def piece(self, content: bytes) -> bytes:
        """Replace the piece."""
        return NONSENSE


@dataclass(eq=False)
class Truncated(Disturbance):
    """Ends answers half-way as if they were whole."""

    async def after(self, answer: Answer) -> Answer:
        """Send half."""
        return answer._replace(body=answer.body[: len(answer.body) // 2])

    async def piece(self, content: bytes) -> bytes:
        """Send half, and end the watch."""
        raise EndsHere(content[: len(content) // 2])


def _status(code: int) -> bytes:
    content = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return msgspec.json.encode(content | {"reason": _REASONS[code], "message": "the fault proxy says so"})


def _gone_line() -> bytes:
    return b'{"type":"ERROR","object":' + _status(410) + b"}\n"
