"""A mount namespace for each real node, so that kubelets and container runtimes side by side leave nothing behind.

Some places are fixed in their code and would be shared by all nodes, and kept for ever; in a node's namespace each is a
folder of that node. All that is mounted there (volumes, the files of containers) is gone with the namespace.
"""

import contextlib
from pathlib import Path

from longshore_lab.cluster.real.host import run, run_anyway

FIXED = {
    "kubelet": Path("/var/lib/kubelet"),
    "cni": Path("/var/lib/cni"),
    "container-logs": Path("/var/log/containers"),
    "shims": Path("/run/containerd"),
}
"""Places that cannot be configured, each with the name of the node's folder that takes its place."""
_SCRIPT = 'while [ "$#" -gt 0 ]; do mount --bind "$1" "$2" && shift 2 || exit 1; done'


def create_run_folder(folder: Path) -> None:
    """Make the folder that holds the namespaces; the kernel keeps them only below a mount that is not shared."""
    folder.mkdir(mode=0o700)
    run(["mount", "--bind", str(folder), str(folder)])
    run(["mount", "--make-private", str(folder)])


def create_namespace(file: Path, node_folder: Path) -> None:
    """Make a mount namespace that lives as long as the file, with folders of the node in the fixed places."""
    pairs: list[str] = []
    for name, place in FIXED.items():
        own = node_folder / "fixed" / name
        own.mkdir(parents=True)
        place.mkdir(parents=True, exist_ok=True)
        pairs += [str(own), str(place)]
    file.touch()
    run(["unshare", f"--mount={file}", "--propagation=private", "sh", "-c", _SCRIPT, "sh", *pairs])


def remove(run_folder: Path) -> None:
    """Remove all namespaces of a cluster, and the fixed places if nobody uses them."""
    for file in run_folder.glob("*/mounts"):
        run_anyway(["umount", str(file)])
    run_anyway(["umount", str(run_folder)])
    for place in FIXED.values():
        with contextlib.suppress(OSError):
            place.rmdir()  # only where it is empty
