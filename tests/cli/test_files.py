"""Reading what the user names."""

import io
import sys
from pathlib import Path

import pytest

from longshore.cli.files import read_bytes
from longshore.core.errors import InputError


def test_read_bytes_reads_a_file(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    assert read_bytes(str(tmp_path / "a")) == b"x"


def test_read_bytes_reads_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    assert read_bytes("-") == b"from a pipe"


def test_read_bytes_says_why_it_cannot(tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        read_bytes(str(tmp_path / "missing"))
