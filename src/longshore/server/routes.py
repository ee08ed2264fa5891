"""Every route of longshore's servers: method, path, who may ask, what is read, what is answered, and by which function.

A group is named after the service that its handlers speak for, and a process serves the groups whose services it has.
Routing, rights, the OpenAPI document and docs/reference/http.md come from this table.
"""

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette

from longshore.server import health, models, openapi
from longshore.server.application import Route, Table, build_app
from longshore.server.rights import Access, Right
from longshore.store.models import Manifest

ROUTES: Table = {
    "about": (Route("GET", "/openapi.json", Right.OPEN, None, dict[str, Any], openapi.answer),),
    "health": (Route("GET", "/healthz", Right.OPEN, None, str, health.healthz),),
    "readiness": (Route("GET", "/readyz", Right.OPEN, None, str, health.readyz),),
    "metrics": (Route("GET", "/metrics", Right.REVIEW, None, str, health.metrics),),
    "models": (
        Route("GET", "/models/{name}/{which}/", Right.TOKEN, None, Manifest, models.manifest),
        Route("GET", "/models/{name}/{which}/manifest.json", Right.TOKEN, None, Manifest, models.manifest),
        Route("GET", "/models/{name}/{which}/{file}", Right.TOKEN, None, bytes, models.file),
    ),
}


def make_app(services: Mapping[str, Any], access: Access | None = None) -> Starlette:
    """Return the application of a process that has these services, by the names of their groups.

    `health` and `readiness` are checks by name, `metrics` is a Prometheus registry, `models` a registry of models.
    """
    served = {name: ROUTES[name] for name in ("about", *services)}
    return build_app(served, {"about": served, **services}, access or Access())
