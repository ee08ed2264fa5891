"""Where compiled programs are kept."""

import os
from pathlib import Path

import pytest

from longshore.cli.compilation import keep_compiled_programs


def test_compiled_programs_go_to_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("LONGSHORE_CACHE", str(tmp_path))
    keep_compiled_programs()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "jax")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")


def test_a_place_that_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    keep_compiled_programs()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"
