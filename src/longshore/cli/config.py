"""`longshore config validate`: what is wrong with a KubeSchedulerConfiguration, and what to write instead."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.groups import add_group
from longshore.cli.output import JsonOption, emit, printable

if TYPE_CHECKING:
    from longshore.kube.scheduler_config import Finding


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    add_group(app, "config", "Configuration files of kube-scheduler.", validate)


def validate(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration; `-` = standard input.")],
    json_mode: JsonOption = False,
) -> None:
    """Explain what is wrong with a configuration of kube-scheduler; exit 1 if it would not work."""
    from longshore.cli.files import read_bytes
    from longshore.kube.scheduler_config import findings

    found = findings(read_bytes(str(file)))
    is_valid = all(one.level != "error" for one in found)
    payload = {"valid": is_valid, "findings": [one._asdict() for one in found]}
    emit(json_mode, payload, lambda: _render(found, str(file)))
    if not is_valid:
        raise typer.Exit(1)


def _render(found: "list[Finding]", file: str) -> None:
    for one in found:
        place = f"{one.path}: " if one.path else ""
        print(printable(f"{one.level}: {place}{one.message}"))
        if one.hint is not None:
            print(printable(f"  hint: {one.hint}"))
    if not found:
        print(printable(f"{file}: nothing wrong was found"))
