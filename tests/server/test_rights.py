"""Who may ask: every right refuses without it and says how to ask."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response

from longshore.core.words.errors import InputError
from longshore.kube.errors import Unreachable
from longshore.kube.reviews import Verdict
from longshore.server.application import Question, Route, build_app
from longshore.server.rights import Access, Right, read_token
from support.asgi import ask


class Reviews:
    """Knows an account that may read `/review` and one that may read nothing."""

    async def review(self, token: str, verb: str, path: str) -> Verdict:
        if token == "away":
            raise Unreachable("the API server did not answer")
        assert (verb, path) == ("get", "/review")
        return {"reader": Verdict.GRANTED, "somebody": Verdict.FORBIDDEN}.get(token, Verdict.UNKNOWN)


def hello(service: None, question: Question) -> Response:
    return PlainTextResponse("hello")


def app(access: Access) -> Starlette:
    rows = tuple(Route("GET", f"/{right.name.lower()}", right, None, str, hello) for right in Right)
    return build_app({"ours": rows}, {"ours": None}, access)


@pytest.fixture
def strict(tmp_path: Path) -> Starlette:
    (tmp_path / "token").write_text("geheim\n")
    return app(Access(tmp_path / "token", Reviews()))  # type: ignore[arg-type]


@pytest.mark.parametrize("right", Right)
async def test_nothing_but_what_is_open_is_answered_without_a_token(strict: Starlette, right: Right) -> None:
    answer = await ask(strict, "GET", f"/{right.name.lower()}")
    assert answer.status == (200 if right is Right.OPEN else 401)
    assert ("www-authenticate" in answer.headers) == (right is not Right.OPEN)


@pytest.mark.parametrize("right", Right)
async def test_where_nothing_is_known_about_who_asks_everybody_may(right: Right) -> None:
    assert (await ask(app(Access()), "GET", f"/{right.name.lower()}")).status == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [("Bearer geheim", 200), ("bearer  geheim ", 200), ("Bearer other", 401), ("Basic geheim", 401), ("Bearer ü", 401)],
)
async def test_the_token_is_compared(strict: Starlette, given: str, status: int) -> None:
    assert (await ask(strict, "GET", "/token", authorization=given)).status == status


@pytest.mark.parametrize(
    ("token", "status", "text"),
    [
        ("reader", 200, b"hello"),
        ("somebody", 403, b"this account has no right to `get /review`\n"),
        ("other", 401, b"got no token, or one that nobody knows, expected that of an account\n"),
        ("away", 503, b"the API server cannot be asked who may read this\n"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_api_server_is_asked_about_the_method_and_the_path(
    strict: Starlette, token: str, status: int, text: bytes, method: str
) -> None:
    answer = await ask(strict, method, "/review", authorization=f"Bearer {token}")
    assert (answer.status, answer.body) == (status, text)


async def test_a_token_that_is_lost_lets_nobody_in(strict: Starlette, tmp_path: Path) -> None:
    (tmp_path / "token").unlink()
    answer = await ask(strict, "GET", "/token", authorization="Bearer geheim")
    assert (answer.status, answer.body) == (503, b"the token cannot be read\n")


@pytest.mark.parametrize(("text", "match"), [("", "0 words"), ("two words", "2 words"), ("ü", "no plain text")])
def test_a_token_is_one_word(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(InputError, match=match):
        read_token(tmp_path / "token")


def test_a_token_that_is_not_there_is_said_before_anything_listens(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the token"):
        Access(tmp_path / "none")
