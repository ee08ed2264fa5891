"""Where the store lies when nobody says: in the user's state folder, the same for every command."""

import os
from pathlib import Path


def default_store() -> Path:
    """Return the default file; its folder may not exist yet (`$XDG_STATE_HOME`, by default `~/.local/state`)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The specification: a path that is not absolute is to be ignored.
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return folder / "longshore" / "decisions.db"
