"""Where the store lies by default."""

from pathlib import Path

import pytest

from longshore.store.location import default_store


@pytest.mark.parametrize(
    ("state", "want"),
    [
        ("/var/state", "/var/state/longshore/decisions.db"),
        ("relative", "/home/me/.local/state/longshore/decisions.db"),
        ("", "/home/me/.local/state/longshore/decisions.db"),
    ],
)
def test_default_store_follows_the_state_folder(monkeypatch: pytest.MonkeyPatch, state: str, want: str):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert default_store() == Path(want)
