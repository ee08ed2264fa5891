"""The OpenAPI document of a table of routes, made from its lines and from the types that they name."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from longshore.server.application import Problem, Question, Route, Table
from longshore.server.rights import Right

_JSON = "application/json"
_MEDIA = {str: "text/plain", bytes: "application/octet-stream"}


def answer(table: Table, _: Question) -> dict[str, Any]:
    """Describe the routes of this process as an OpenAPI document."""
    return describe(table)


def describe(table: Table) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of a table."""
    routes = [(group, route) for group, routes in table.items() for route in routes]
    types = list(dict.fromkeys([Problem, str, *(kind for _, one in routes for kind in (one.request, one.response))]))
    found, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schemas = {**dict(zip(types, found, strict=True)), bytes: {}}  # not as base64, as in JSON
    paths: dict[str, dict[str, Any]] = {}
    for group, route in routes:
        parameters = list(_parameters(route, components))
        operation = {"tags": [group], "parameters": parameters, **_operation(route, schemas)}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "longshore", "version": "1"},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    def content(*kinds: Any) -> dict[str, Any]:
        return {_MEDIA.get(kind, _JSON): {"schema": schemas[kind]} for kind in kinds}

    return {
        "summary": route.summary,
        "security": [] if route.right is Right.OPEN else [{"bearer": []}],
        **({"requestBody": {"required": True, "content": content(route.request)}} if route.has_body else {}),
        "responses": {
            "200": {"description": "answered", "content": content(route.response)},
            "default": {"description": "not answered", "content": content(Problem, str)},
        },
    }


def _parameters(route: Route, components: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.request is not None and not route.has_body:
        struct = components[route.request.__name__]
        for name, schema in struct["properties"].items():
            yield {"name": name, "in": "query", "required": name in struct.get("required", ()), "schema": schema}
