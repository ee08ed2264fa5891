"""Who may ask what: the one place that refuses, for all routes."""

import hmac
import logging
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from longshore.core.words.errors import InputError
from longshore.kube.errors import ApiError
from longshore.kube.reviews import Reviewer, Verdict

LOGGER = logging.getLogger(__name__)

_MOST_TOKEN_BYTES = 4096
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Right(Enum):
    """What a route asks of who asks it."""

    OPEN = "everybody"
    TOKEN = "who knows the server's token, where it was given one"
    REVIEW = "accounts to which the API server grants it, where the server asks there"


@dataclass(frozen=True)
class Access:
    """What a process knows about those who may ask.

    Raises:
        InputError: the token cannot be read.
    """

    token_file: Path | None = None
    """Who asks for `Right.TOKEN` must know what it holds (`Authorization: Bearer …`); None = anybody may ask."""
    reviewer: Reviewer | None = None
    """Is asked about `Right.REVIEW`; None = anybody may ask."""

    def __post_init__(self) -> None:
        if self.token_file is not None:
            read_token(self.token_file)

    async def check(self, right: Right, request: Request) -> None:
        """Let a question pass.

        Raises:
            HTTPException: who asks has no right, or nobody can say.
        """
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = given.strip() if scheme.lower() == "bearer" else ""
        if right is Right.TOKEN and self.token_file is not None:
            await run_in_threadpool(_check_token, token, self.token_file)
        if right is Right.REVIEW and self.reviewer is not None:
            await _check_review(token, request.method.lower(), request.url.path, self.reviewer)


def read_token(file: Path) -> str:
    """Return the token of a file.

    Raises:
        InputError: it cannot be read, or holds no single word.
    """
    try:
        with file.open("rb") as opened:
            token = opened.read(_MOST_TOKEN_BYTES + 1).decode("ascii").strip()
    except OSError as error:
        raise InputError(f"cannot read the token `{file}`: {error.strerror}", "give a file that exists") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the token `{file}` is no plain text, expected one word", "write it again") from error
    if not token or len(token) > _MOST_TOKEN_BYTES or token.split() != [token]:
        raise InputError(
            f"the token `{file}` holds {len(token.split())} words, expected one of at most {_MOST_TOKEN_BYTES} bytes",
            "such as `openssl rand -hex 32 > FILE` writes",
        )
    return token


def _check_token(given: str, token_file: Path) -> None:
    """Refuse who does not know the token; it is read again every time, as tokens are changed."""
    try:
        token = read_token(token_file)
    except InputError as error:
        LOGGER.error("server: cannot read the token reason=%r", error.message)
        raise HTTPException(503, "the token cannot be read") from error
    if not hmac.compare_digest(given.encode(), token.encode()):
        raise HTTPException(401, "got no token, or another, expected `Authorization: Bearer TOKEN`", _CHALLENGE)


async def _check_review(given: str, verb: str, path: str, reviewer: Reviewer) -> None:
    """Refuse to whom the API server does not grant it."""
    verb = "get" if verb == "head" else verb
    try:
        verdict = await reviewer.review(given, verb, path) if given else Verdict.UNKNOWN
    except (ApiError, msgspec.MsgspecError) as error:
        LOGGER.warning("server: cannot ask who may read it path=%r reason=%r", path, str(error))
        raise HTTPException(503, "the API server cannot be asked who may read this") from error
    if verdict is Verdict.FORBIDDEN:
        raise HTTPException(403, f"this account has no right to `{verb} {path}`")
    if verdict is Verdict.UNKNOWN:
        text = "got no token, or one that nobody knows, expected that of an account"
        raise HTTPException(401, text, _CHALLENGE)
