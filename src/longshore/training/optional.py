"""Packages that only some work needs: imported when it is asked for, with a sentence where they are missing."""

import importlib
from typing import Any

from longshore.core.words.errors import ComponentMissingError


def optional_package(name: str, extra: str) -> Any:
    """Import a package that an extra of longshore's provides.

    Raises:
        ComponentMissingError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ComponentMissingError(name, f"pip install 'longshore[{extra}]'") from error
