"""What `longshore doctor` looks for beside the product's own needs: the tools and programs of the lab."""

import functools

from longshore.cli.doctor import Found, Probe, find_program
from longshore.core.words.errors import ComponentMissingError


def probes() -> tuple[Probe, ...]:
    """Return what the lab needs."""
    return (
        Probe("go", functools.partial(find_program, ("go",), "version"), False, "make controlplane"),
        Probe("oracle", find_oracle, False, "make controlplane"),
    )


def find_oracle() -> Found:
    """Look for the built oracle in the cache."""
    from longshore_lab.build import program_path

    try:
        path = program_path("oracle")
    except ComponentMissingError as error:
        return Found(False, f"{error.message}: {error.hint}")
    return Found(path.is_file(), str(path) if path.is_file() else "not built")
