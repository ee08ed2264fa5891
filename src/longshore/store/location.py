"""Where files lie when nobody says: the store in the user's state folder, what can be made again in the cache."""

import os
from pathlib import Path

CACHE_VARIABLE = "LONGSHORE_CACHE"
"""Names the folder for what can be made again; by default it is `longshore` in the user's cache."""


def default_store() -> Path:
    """Return the default file; its folder may not exist yet (`$XDG_STATE_HOME`, by default `~/.local/state`)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The specification: a path that is not absolute is to be ignored.
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return folder / "longshore" / "decisions.db"


def cache_folder() -> Path:
    """Return the folder for what can be made again; it may not exist yet."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "longshore"
