"""A table becomes an application: what is read and answered, and how errors are told, for every route alike."""

import json
import threading
from typing import Annotated, Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from longshore.core.words.errors import InputError, LongshoreError
from longshore.server import application
from longshore.server.application import Question, Route, build_app
from longshore.server.rights import Access, Right
from support.asgi import ask


class Wish(msgspec.Struct):
    """What is asked for."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    word: str = "none"


def repeat(service: str, question: Question) -> dict[str, Any]:
    return {"service": service, "path": dict(question.path), "wish": question.content}


async def in_loop(service: Any, question: Question) -> int:
    return threading.get_ident()


def in_thread(service: Any, question: Question) -> int:
    return threading.get_ident()


def hello(service: Any, question: Question) -> Response:
    return PlainTextResponse("hello\n")


def fail(service: Any, question: Question) -> Any:
    raise {
        "input": InputError("got 3, expected 2", "give 2"),
        "store": LongshoreError("/secret/place: no answer"),
        "missing": HTTPException(404, "no such thing", {"X-Why": "gone"}),
    }[question.path["how"]]


def row(method: str, path: str, handler: Any, request: Any = None, response: Any = str) -> Route:
    return Route(method, path, Right.OPEN, request, response, handler)


@pytest.fixture
def app() -> Starlette:
    table = {
        "ours": (
            row("GET", "/things/{name}", repeat, Wish, dict),
            row("POST", "/things/{name}", repeat, Wish, dict),
            row("GET", "/loop", in_loop, None, int),
            row("GET", "/thread", in_thread, None, int),
            row("GET", "/hello", hello),
            row("GET", "/fail/{how}", fail),
        )
    }
    return build_app(table, {"ours": "service"}, Access())


async def test_what_is_read_from_the_query_has_the_types_of_the_struct(app: Starlette) -> None:
    answer = await ask(app, "GET", "/things/a?number=3&word=yes")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    wish = {"number": 3, "word": "yes"}
    assert json.loads(answer.body) == {"service": "service", "path": {"name": "a"}, "wish": wish}


async def test_a_body_is_read_as_json(app: Starlette) -> None:
    answer = await ask(app, "POST", "/things/a", b'{"number": 3}')
    assert json.loads(answer.body)["wish"] == {"number": 3, "word": "none"}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_does_not_fit_the_type_is_a_bad_question(app: Starlette, method: str) -> None:
    answer = await ask(app, method, "/things/a?number=-3", b'{"number": -3}')
    assert answer.status == 400
    assert answer.body.startswith(f"got what `{method} /things/{{name}}` does not take: Expected `int` >= 0".encode())


async def test_half_a_body_is_a_bad_question(app: Starlette) -> None:
    assert (await ask(app, "POST", "/things/a", b'{"number": ')).status == 400


async def test_a_body_that_is_too_long_is_not_read(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MAX_BODY_BYTES", 10)
    answer = await ask(app, "POST", "/things/a", b'{"number": 3}')
    assert (answer.status, answer.body) == (413, b"got more than 10 bytes\n")


async def test_plain_handlers_run_in_a_thread_and_coroutines_in_the_loop(app: Starlette) -> None:
    here = str(threading.get_ident()).encode()
    assert (await ask(app, "GET", "/loop")).body == here
    assert (await ask(app, "GET", "/thread")).body != here


async def test_a_whole_response_is_sent_as_it_is(app: Starlette) -> None:
    assert (await ask(app, "GET", "/hello")).body == b"hello\n"


async def test_head_is_answered_as_get(app: Starlette) -> None:
    answer = await ask(app, "HEAD", "/hello")
    assert (answer.status, answer.headers["content-length"]) == (200, "6")


async def test_another_method_is_told_all_that_there_are(app: Starlette) -> None:
    answer = await ask(app, "DELETE", "/things/a")
    assert (answer.status, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})


async def test_a_path_with_another_end_is_not_found_and_not_redirected(app: Starlette) -> None:
    assert (await ask(app, "GET", "/hello/")).status == 404


async def test_errors_are_text(app: Starlette) -> None:
    answer = await ask(app, "GET", "/fail/missing")
    assert (answer.status, answer.body, answer.headers["x-why"]) == (404, b"no such thing\n", "gone")
    assert (await ask(app, "GET", "/fail/input")).body == b"got 3, expected 2\n"


async def test_errors_are_json_for_who_accepts_it(app: Starlette) -> None:
    answer = await ask(app, "GET", "/fail/input", accept="text/html, application/json")
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert json.loads(answer.body) == {"error": "got 3, expected 2", "hint": "give 2"}
    assert json.loads((await ask(app, "GET", "/none", accept="application/json")).body) == {"error": "Not Found"}


async def test_what_fails_inside_goes_to_the_log_and_not_to_who_asks(
    app: Starlette, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(app, "GET", "/fail/store")
    assert (answer.status, answer.body) == (503, b"this cannot be answered now; the server's log says why\n")
    assert caplog.messages == ["server: cannot answer path='/fail/store' reason='/secret/place: no answer'"]
