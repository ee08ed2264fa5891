"""`longshore list`: the units of one room by name, each with the first line of its file."""

import importlib
from typing import Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.errors import LongshoreError, UnknownNameError
from longshore.core.registry import Registry

ROOMS = ("filters", "policies", "objectives", "workloads")
"""Rooms with a registry; docs/generate.py and the matrix tests read this too."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="list")(list_units)


def registry_of(room: str) -> Registry:
    """Return the registry of a room.

    Raises:
        UnknownNameError: if no room of that name has a registry.
    """
    if room not in ROOMS:
        raise UnknownNameError("list", room, ROOMS)
    registry = importlib.import_module(f"longshore.{room}").REGISTRY
    assert isinstance(registry, Registry)
    return registry


def list_units(
    room: Annotated[str, typer.Argument(help="One of: " + ", ".join(ROOMS) + ".", metavar="WHAT", show_default=False)],
    json_mode: JsonOption = False,
) -> None:
    """List filters, policies, objectives or workloads with what each does."""
    registry = registry_of(room)
    units = [_unit(registry, name) for name in registry.names()]

    def render() -> None:
        if units:
            write_table(("name", "description"), [(unit["name"] or "", _described(unit)) for unit in units])
        else:
            note(f"no {room} yet")

    emit(json_mode, {"room": room, "kind": registry.kind, "units": units}, render)


def _unit(registry: Registry, name: str) -> dict[str, str | None]:
    """Describe a unit; one of another package that cannot be loaded must not hide the others."""
    try:
        registry.load(name)
        return {"name": name, "description": registry.describe(name), "broken": None}
    except LongshoreError as error:
        return {"name": name, "description": "", "broken": error.message}


def _described(unit: dict[str, str | None]) -> str:
    return f"(broken) {unit['broken']}" if unit["broken"] else unit["description"] or ""
