"""An image of our kube-scheduler for a real node, made here: the built program and the libraries it is linked with.

The program of deploy/containers is static and lies in an empty image; the one that `make controlplane` builds is linked
with libc, so its image has that too. Its place, user, environment and entry point are those of the container file.
"""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.real import host, node
from support.deploy import DEPLOY

SOCKET = "containerd.sock"
CONTAINERFILE = DEPLOY / "containers" / "scheduler.Containerfile"


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a container file, continued lines put together."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def last_stage(path: Path) -> list[tuple[str, str]]:
    """Return the instructions that make the image itself."""
    found = instructions(path)
    return found[max(number for number, (word, _) in enumerate(found) if word == "FROM") :]


def import_scheduler(cluster: LocalCluster, program: Path, image: str, scratch: Path) -> None:
    """Give the cluster's first real node an image that starts the program."""
    archive = scratch / "image.tar"
    archive.write_bytes(_archive(program, image))
    socket = node.run_folder(host.tag_of(cluster.folder)) / "0" / SOCKET
    host.run(["ctr", f"--address={socket}", "--namespace=k8s.io", "images", "import", str(archive)])


def _archive(program: Path, image: str) -> bytes:
    """Return a docker archive with one layer."""
    stage = last_stage(CONTAINERFILE)
    (place,) = (rest.split()[-1] for word, rest in stage if word == "COPY" and rest.endswith("kube-scheduler"))
    files = {place: program, **{str(path): path for path in _libraries(program)}}
    layer = _tar({name.lstrip("/"): (path.read_bytes(), 0o755) for name, path in files.items()})
    said = dict(stage)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": json.loads(said["ENTRYPOINT"]),
            "Env": [rest for word, rest in stage if word == "ENV"],
            "User": said["USER"],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]
    described = {"layer.tar": layer, "config.json": _json(config), "manifest.json": _json(manifest)}
    return _tar({name: (content, 0o644) for name, content in described.items()})


def _libraries(program: Path) -> list[Path]:
    """Return what a program is linked with; nothing if it is static."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", done.stdout)]


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
