"""A cache of its own for the tests that write records of clusters."""

from pathlib import Path

import pytest

from longshore.store.location import CACHE_VARIABLE


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder in place of the user's cache."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path
