"""Where the store and the cache lie by default."""

from pathlib import Path

import pytest

from longshore.store.location import CACHE_VARIABLE, cache_folder, default_store


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


@pytest.mark.parametrize(
    ("variables", "want"),
    [
        pytest.param({"LONGSHORE_CACHE": "/ours", "XDG_CACHE_HOME": "/xdg"}, "/ours", id="our own variable first"),
        pytest.param({"XDG_CACHE_HOME": "/xdg"}, "/xdg/longshore", id="then the desktop's"),
        pytest.param({"XDG_CACHE_HOME": "", "HOME": "/me"}, "/me/.cache/longshore", id="then the home folder"),
    ],
)
def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], want: str) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(want)
