"""`longshore list`: the units of one room by name, each with the first line of its file."""

import importlib
from typing import Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore.core.words.registry import Registry

REGISTRIES = {
    "filters": "longshore.filters:REGISTRY",
    "policies": "longshore.policies:REGISTRY",
    "objectives": "longshore.objectives:REGISTRY",
    "workloads": "longshore.workloads:REGISTRY",
    "learners": "longshore.agents:LEARNERS",
    "networks": "longshore.agents:NETWORKS",
    "telemetry": "longshore.telemetry:REGISTRY",
}
ROOMS = tuple(REGISTRIES)
"""What has a registry; docs/generate.py and the matrix tests read this too."""
PRESETS = "presets"
"""Listed too, though it is no registry: a preset is a table and not a unit."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="list")(list_units)


def registry_of(room: str) -> Registry:
    """Return the registry of a room.

    Raises:
        UnknownNameError: if no room of that name has a registry.
    """
    if room not in ROOMS:
        raise UnknownNameError("list", room, (*ROOMS, PRESETS))
    module, _, attribute = REGISTRIES[room].partition(":")
    registry = getattr(importlib.import_module(module), attribute)
    assert isinstance(registry, Registry)
    return registry


def list_units(
    room: Annotated[
        str, typer.Argument(help="One of: " + ", ".join((*ROOMS, PRESETS)) + ".", metavar="WHAT", show_default=False)
    ],
    json_mode: JsonOption = False,
) -> None:
    """List filters, policies, objectives, workloads, learners, networks, telemetry or presets with what each does."""
    kind, units = _units(room)

    def render() -> None:
        if units:
            write_table(("name", "description"), [(unit["name"] or "", _described(unit)) for unit in units])
        else:
            note(f"no {room} yet")

    emit(json_mode, {"room": room, "kind": kind, "units": units}, render)


def _units(room: str) -> tuple[str, list[dict[str, str | None]]]:
    if room != PRESETS:
        registry = registry_of(room)
        units = [_unit(registry, name) for name in registry.names()]
        return registry.kind, units + (_shipped_bundles() if room == "policies" else [])
    from longshore.training.run.presets import PRESETS as TABLE

    return "preset", [{"name": name, "description": one.description, "broken": None} for name, one in TABLE.items()]


def _shipped_bundles() -> list[dict[str, str | None]]:
    from pathlib import Path

    from longshore.policies.bundle_folder import read_folder, shipped_names

    bundles = {name: read_folder(Path(name)) for name in shipped_names()}
    return [
        {"name": name, "description": f"Trained for {bundle.objective} (a bundle).", "broken": None}
        for name, bundle in bundles.items()
    ]


def _unit(registry: Registry, name: str) -> dict[str, str | None]:
    """Describe a unit; one of another package that cannot be loaded must not hide the others."""
    try:
        registry.load(name)
        return {"name": name, "description": registry.describe(name), "broken": None}
    except LongshoreError as error:
        return {"name": name, "description": "", "broken": error.message}


def _described(unit: dict[str, str | None]) -> str:
    return f"(broken) {unit['broken']}" if unit["broken"] else unit["description"] or ""
