"""Which extra of longshore provides a package: commands need only some of them, and name the one that is missing."""

import re
from importlib import metadata

from longshore.core.words.errors import ExtraMissingError

_REQUIREMENT = re.compile(r"""(?P<name>[\w.-]+).*;.*extra == ['"](?P<extra>[\w-]+)['"]""")

OF_DEVELOPERS = ("build", "dev")
"""Extras that nobody needs to use longshore; what they share with others is named by the others."""


def missing_extra(error: ModuleNotFoundError) -> ExtraMissingError | None:
    """Return what to tell the user about a module that is not there; None if no extra provides it."""
    package = (error.name or "").partition(".")[0]
    for requirement in metadata.requires("longshore") or []:
        found = _REQUIREMENT.match(requirement)
        if found is None or found["extra"] in OF_DEVELOPERS:
            continue
        if _plain(found["name"]) == _plain(package):
            return ExtraMissingError(package, found["extra"])
    return None


def _plain(name: str) -> str:
    """Return a name as both packages and modules can be called: `prometheus-client` is imported with `_`."""
    return re.sub(r"[-_.]+", "_", name).lower()
