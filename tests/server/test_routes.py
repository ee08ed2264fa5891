"""Every route of the table: refused without its right, by another method, and where it says it is."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Match
from starlette.routing import Route as Matcher

from longshore.kube.reviews import Verdict
from longshore.server.application import Route
from longshore.server.openapi import describe
from longshore.server.rights import Access, Right
from longshore.server.routes import ROUTES, make_app
from support.asgi import ask

ALL = [route for routes in ROUTES.values() for route in routes]
every_route = pytest.mark.parametrize("route", ALL, ids=lambda route: f"{route.method} {route.path}")
SERVICES: dict[str, Any] = {name: {} for name in ROUTES if name != "about"}
"""Good enough for who is not let in."""


class Nobody:
    """Says that every account may do nothing."""

    async def review(self, token: str, verb: str, path: str) -> Verdict:
        return Verdict.FORBIDDEN


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    (tmp_path / "token").write_text("geheim")
    return make_app(SERVICES, Access(tmp_path / "token", Nobody()))  # type: ignore[arg-type]


def filled(route: Route) -> str:
    """Return the route's path with something in the place of each part in braces."""
    return re.sub(r"{\w+}", "x", route.path)


@every_route
async def test_it_is_refused_without_its_right(app: Starlette, route: Route) -> None:
    if route.right is Right.OPEN:
        assert (await ask(app, route.method, filled(route))).status not in (401, 403)
        return
    assert (await ask(app, route.method, filled(route))).status == 401
    status = {Right.TOKEN: 401, Right.REVIEW: 403}[route.right]
    assert (await ask(app, route.method, filled(route), authorization="Bearer other")).status == status


@every_route
async def test_another_method_is_not_allowed(app: Starlette, route: Route) -> None:
    methods = {one.method for one in ALL if one.path == route.path}
    other = min({"GET", "POST", "PUT", "PATCH", "DELETE"} - methods)
    answer = await ask(app, other, filled(route))
    assert answer.status == 405
    assert methods <= set(answer.headers["allow"].split(", "))


@every_route
def test_no_other_route_answers_in_its_place(app: Starlette, route: Route) -> None:
    scope: dict[str, Any] = {"type": "http", "method": route.method, "path": filled(route), "root_path": ""}
    first = next(one for one in app.routes if one.matches(scope)[0] is Match.FULL)
    assert isinstance(first, Matcher)
    assert first.path == route.path


@every_route
def test_its_handler_says_what_it_does(route: Route) -> None:
    assert route.summary.endswith(".")


def test_no_two_lines_have_the_same_method_and_path() -> None:
    assert len({(route.method, route.path) for route in ALL}) == len(ALL)


def test_the_document_names_every_route() -> None:
    named = {(method.upper(), path) for path, methods in describe(ROUTES)["paths"].items() for method in methods}
    assert named == {(route.method, route.path) for route in ALL}


async def test_only_groups_that_have_a_service_are_answered() -> None:
    app = make_app({"health": {}})
    assert (await ask(app, "GET", "/healthz")).body == b"ok\n"
    assert (await ask(app, "GET", "/metrics")).status == 404
    document = await ask(app, "GET", "/openapi.json")
    assert document.status == 200
    assert b"/healthz" in document.body
    assert b"/metrics" not in document.body


def test_a_service_that_nothing_speaks_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="modles"):
        make_app({"modles": None})
