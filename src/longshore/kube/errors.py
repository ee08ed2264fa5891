"""What can go wrong between longshore and the API server.

    LongshoreError
    └── ApiError                 the server answered, with a status that is no success
        ├── Unauthorized         401: it does not know who we are
        ├── Forbidden            403: it knows, and we have no right to this
        ├── NotFound             404
        ├── Conflict             409: somebody else was first (another version, already exists, already bound)
        ├── Gone                 410: the history that was asked for is compacted
        ├── Invalid              422: it does not take the object
        ├── TooManyRequests      429: later; `retry_after` says when
        ├── Garbled              a success whose body cannot be read
        └── Unreachable          status 0: no answer (no connection, connection lost, no answer in time)
            ├── Silent           a stream on which nothing arrives any more
            └── NoCredentials    nothing was asked: there is no token or certificate to show

`may_have_happened` tells whether a write can have taken effect all the same: then read before writing again.
"""

# ruff: noqa: N818 (the names are those of the API's own reasons)

from typing import ClassVar

import msgspec

from longshore.core.words.errors import LongshoreError

_LONGEST_DETAIL = 500


class ApiError(LongshoreError):
    """The API server refused, or could not be asked."""

    hint_for_all: ClassVar[str | None] = None

    def __init__(self, status: int, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint or self.hint_for_all)
        self.status = status
        self.reason = reason

    @property
    def may_have_happened(self) -> bool:
        """Say whether the request can have taken effect: a server that fails says nothing about what it had done."""
        return self.status >= 500


class Unauthorized(ApiError):
    """The server does not know who we are."""

    hint_for_all = "the token or the client certificate may have expired; renew it, or choose another context"


class Forbidden(ApiError):
    """We may not do this."""

    hint_for_all = "grant the right to this identity; `deploy/rbac.yaml` has what longshore needs"


class NotFound(ApiError):
    """There is no such object."""


class Conflict(ApiError):
    """Somebody else was first."""


class Gone(ApiError):
    """The history from which a watch or a list should go on is no longer kept."""


class Invalid(ApiError):
    """The server does not take the object."""


class TooManyRequests(ApiError):
    """The server wants us to come back later."""

    def __init__(
        self, status: int, reason: str, message: str, hint: str | None = None, *, retry_after: float | None = None
    ) -> None:
        super().__init__(status, reason, message, hint)
        self.retry_after = retry_after
        """Seconds to wait, where the server said so."""


class Unreachable(ApiError):
    """There was no answer."""

    def __init__(self, message: str, hint: str | None = None, *, was_sent: bool = True) -> None:
        super().__init__(0, "Unreachable", message, hint)
        self.was_sent = was_sent
        """False where not even a connection was made."""

    @property
    def may_have_happened(self) -> bool:
        """Say whether the request can have taken effect."""
        return self.was_sent


class Silent(Unreachable):
    """Nothing has arrived on a stream for longer than a server is ever silent."""


class NoCredentials(Unreachable):
    """There is nothing to show to the server: a credential program failed, a token file is empty."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint, was_sent=False)


class Garbled(ApiError):
    """The server said yes, in a body that cannot be read."""

    def __init__(self, asked: str, detail: object) -> None:
        super().__init__(200, "Garbled", f"the answer to `{asked}` cannot be read: {detail}")

    @property
    def may_have_happened(self) -> bool:
        """Say whether the request can have taken effect: the server said so."""
        return True


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None


class Status(msgspec.Struct):
    """The `Status` object in which the API server says what went wrong; also the object of a watch's ERROR event."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_status_decoder = msgspec.json.Decoder(Status)


def from_answer(status: int, body: bytes, asked: str, retry_after: str | None = None) -> ApiError:
    """Turn an answer that is no success into its error; `asked` is the request, such as `GET /api/v1/pods`."""
    try:
        said = _status_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):  # a proxy's page, or half an answer
        said = Status(message=body[:_LONGEST_DETAIL].decode("utf-8", "replace").strip())
    return from_status(said, asked, status, retry_after)


def from_status(said: Status, asked: str, status: int = 0, retry_after: str | None = None) -> ApiError:
    """Turn a `Status` object into its error."""
    status = status or said.code
    detail = said.message[:_LONGEST_DETAIL] or "no reason given"
    message = f"`{asked}` was answered with {status} {said.reason}".rstrip() + f": {detail}"
    if status == 429:
        return TooManyRequests(status, said.reason, message, retry_after=_seconds(retry_after, said.details))
    return _BY_STATUS.get(status, ApiError)(status, said.reason, message)


def _seconds(header: str | None, details: _Details | None) -> float | None:
    if header is not None and header.isascii() and header.isdigit() and len(header) < 6:
        return float(header)
    if details is not None and details.retry_after_seconds:
        return float(details.retry_after_seconds)
    return None
