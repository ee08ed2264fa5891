"""The OpenAPI document: parameters, bodies, answers and rights come from the lines of the table."""

import json
import re
from typing import Annotated, Any

import msgspec
import pytest

from longshore.server.application import Question, Route
from longshore.server.openapi import describe
from longshore.server.rights import Right
from longshore.server.routes import ROUTES


class Window(msgspec.Struct):
    """Which decisions."""

    node: str
    limit: Annotated[int, msgspec.Meta(ge=1, description="How many at most.")] = 100


class Row(msgspec.Struct):
    """One decision."""

    pod: str


def rows(service: Any, question: Question) -> Any:
    """Return decisions.

    The newest first.
    """


TABLE = {
    "log": (
        Route("GET", "/decisions/{uid}", Right.REVIEW, Window, list[Row], rows),
        Route("POST", "/decisions/{uid}", Right.OPEN, Window, Row, rows),
        Route("GET", "/page", Right.TOKEN, None, str, rows),
        Route("GET", "/file", Right.TOKEN, None, bytes, rows),
    )
}


def operation(path: str, method: str = "get") -> dict[str, Any]:
    return describe(TABLE)["paths"][path][method]  # type: ignore[no-any-return]


def test_a_route_s_words_are_its_group_and_the_first_line_of_its_handler() -> None:
    assert (operation("/page")["tags"], operation("/page")["summary"]) == (["log"], "Return decisions.")


def test_parameters_are_those_of_the_path_and_of_the_query() -> None:
    limit = {"type": "integer", "minimum": 1, "description": "How many at most.", "default": 100}
    assert operation("/decisions/{uid}")["parameters"] == [
        {"name": "uid", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "node", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "required": False, "schema": limit},
    ]


def test_a_body_is_the_request_type_where_the_method_has_one() -> None:
    post = operation("/decisions/{uid}", "post")
    assert post["requestBody"]["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Window"}}}
    assert [one["name"] for one in post["parameters"]] == ["uid"]
    assert "requestBody" not in operation("/decisions/{uid}")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/page", {"text/plain": {"schema": {"type": "string"}}}),
        ("/file", {"application/octet-stream": {"schema": {}}}),
        (
            "/decisions/{uid}",
            {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}}},
        ),
    ],
)
def test_an_answer_is_the_response_type(path: str, content: dict[str, Any]) -> None:
    assert operation(path)["responses"]["200"]["content"] == content


def test_what_is_not_open_asks_for_a_token() -> None:
    assert operation("/page")["security"] == [{"bearer": []}]
    assert operation("/decisions/{uid}", "post")["security"] == []


@pytest.mark.parametrize("table", [TABLE, ROUTES], ids=["test", "own"])
def test_every_reference_leads_somewhere(table: Any) -> None:
    document = describe(table)
    assert document["openapi"].startswith("3.1")
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found: Any = document
        for part in reference.split("/"):
            found = found[part]
