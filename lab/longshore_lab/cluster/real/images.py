"""Container images made of one static program, without a registry: a docker archive that containerd imports."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from longshore_lab.build import APPS, require_app

REGISTRY = "longshore.dev"
"""A name only: nothing is ever fetched from there."""
TAG = "1"


def image_name(app: str) -> str:
    """Return the name under which pods use an app."""
    return f"{REGISTRY}/{app}:{TAG}"


def write_archives(folder: Path) -> list[Path]:
    """Write the archive of every app into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for app in APPS:
        path = folder / f"{app}.tar"
        path.write_bytes(archive(app, require_app(app).read_bytes()))
        written.append(path)
    return written


def archive(app: str, program: bytes) -> bytes:
    """Return an image that holds one program and starts it, the same bytes for the same program."""
    layer = _tar({app: (program, 0o755)})
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": [f"/{app}"], "User": "65534:65534", "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    encoded = json.dumps(config, sort_keys=True).encode()
    config_name = f"{hashlib.sha256(encoded).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [image_name(app)], "Layers": ["layer.tar"]}]
    files = {"layer.tar": layer, config_name: encoded, "manifest.json": json.dumps(manifest).encode()}
    return _tar({name: (content, 0o644) for name, content in files.items()})


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
