"""Tests of images made of one program."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from longshore_lab.cluster.real import images

PROGRAM = b"\x7fELF a program"


def opened(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]


def test_an_image_starts_its_program_as_nobody() -> None:
    files = opened(images.archive("pause", PROGRAM))
    (manifest,) = json.loads(files["manifest.json"])
    assert manifest["RepoTags"] == ["longshore.dev/pause:1"]
    config = json.loads(files[manifest["Config"]])["config"]
    assert config["Entrypoint"] == ["/pause"]
    assert config["User"] == "65534:65534"


def test_its_layer_is_the_program_under_its_digest() -> None:
    files = opened(images.archive("pause", PROGRAM))
    (manifest,) = json.loads(files["manifest.json"])
    config = json.loads(files[manifest["Config"]])
    layer = files[manifest["Layers"][0]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert opened(layer) == {"pause": PROGRAM}
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert tar.getmember("pause").mode == 0o755


def test_the_same_program_gives_the_same_image() -> None:
    assert images.archive("pause", PROGRAM) == images.archive("pause", PROGRAM)
    assert images.archive("pause", PROGRAM) != images.archive("pause", PROGRAM + b"!")


def test_every_app_gets_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program").write_bytes(PROGRAM)
    monkeypatch.setattr(images, "require_app", lambda _: tmp_path / "program")
    written = images.write_archives(tmp_path / "images")
    assert [path.name for path in written] == ["pause.tar", "responder.tar"]
    assert all(path.is_file() for path in written)
