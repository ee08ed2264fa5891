"""Reading what the user names."""

import errno
import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from longshore.cli.files import check_folder, check_writable, read_bytes, read_objective, write_bytes
from longshore.core.words.errors import InputError


def test_read_bytes_reads_a_file(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    assert read_bytes(str(tmp_path / "a")) == b"x"


def test_read_bytes_reads_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    assert read_bytes("-") == b"from a pipe"


def test_read_bytes_says_why_it_cannot(tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        read_bytes(str(tmp_path / "missing"))


def test_read_bytes_unpacks_gzip(tmp_path: Path):
    packed = gzip.compress(b"hello" * 100)
    (tmp_path / "whole").write_bytes(packed)
    (tmp_path / "half").write_bytes(packed[:-10])
    assert read_bytes(str(tmp_path / "whole")) == b"hello" * 100
    with pytest.raises(InputError, match="packed by gzip and cannot be unpacked"):
        read_bytes(str(tmp_path / "half"))


def test_read_objective_reads_a_yaml_file_and_leaves_the_rest(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text("terms:\n  - {name: ee, weight: 2.0}\n")
    assert read_objective(str(file)) == "terms:\n  - {name: ee, weight: 2.0}"
    for text in ("el-rl", "ee=1,watts=0.01", "terms: [{name: ee}]", "mine.py:reward"):
        assert read_objective(text) == text
    with pytest.raises(InputError, match=r"cannot read `no\.yaml`: No such file"):
        read_objective("no.yaml")


def test_check_folder_refuses_what_lies_in_a_file(tmp_path: Path):
    check_folder(tmp_path / "a" / "b", "--out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--out: a part of the path is a file"):
        check_folder(tmp_path / "file" / "a", "--out")


def test_write_bytes_replaces_a_file_and_keeps_its_mode(tmp_path: Path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(0o640)
    write_bytes(target, b"new", "--out")
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [target]


def test_write_bytes_keeps_a_link(tmp_path: Path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_bytes(tmp_path / "link", b"new", "--out")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_write_bytes_leaves_the_old_file_if_the_new_one_cannot_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\nhint: --out: free some space"):
        write_bytes(target, b"new", "--out")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_write_bytes_goes_to_devices_directly():
    with pytest.raises(InputError, match="cannot write `/dev/full`: No space left"):
        write_bytes(Path("/dev/full"), b"x", "--out")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("missing/a", "make its folder first"),
        (".", "add the name of a file"),
        ("file/a", "is a file"),
        ("x" * 300, "shorter"),
    ],
)
def test_write_bytes_hints_by_what_went_wrong(tmp_path: Path, name: str, hint: str):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"hint: --out: .*{hint}"):
        write_bytes(tmp_path / name, b"x", "--out")


@pytest.mark.parametrize(
    ("name", "hint"), [("missing/a", "make its folder first"), (".", "add the name of a file"), ("file/a", "is a file")]
)
def test_check_writable_refuses_what_could_not_be_written(tmp_path: Path, name: str, hint: str):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"hint: --out: .*{hint}"):
        check_writable(tmp_path / name, "--out")


def test_check_writable_lets_files_pass_and_makes_none(tmp_path: Path):
    check_writable(tmp_path / "new", "--out")
    check_writable(None, "--out")
    assert list(tmp_path.iterdir()) == []
