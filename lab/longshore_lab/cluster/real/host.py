"""What real nodes need of this machine, and the commands that work on it."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from longshore.core.words.errors import ComponentMissingError, LongshoreError

PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}
"""Programs, each with its Debian package."""
CNI_PROGRAMS = Path("/usr/lib/cni")
CNI_PACKAGE = "containernetworking-plugins"


def check_host() -> None:
    """Look whether this machine can have real nodes.

    Raises:
        LongshoreError: we are not root.
        ComponentMissingError: a program is missing; the message has the line that installs all of them.
    """
    if os.geteuid() != 0:
        raise LongshoreError(
            "real nodes need root: they make network namespaces, mounts and cgroups",
            "run it as root, or leave `--real-nodes` away: KWOK nodes need no rights",
        )
    missing = {program: package for program, package in PACKAGES.items() if shutil.which(program) is None}
    if not (CNI_PROGRAMS / "bridge").is_file():
        missing[str(CNI_PROGRAMS / "bridge")] = CNI_PACKAGE
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise ComponentMissingError(", ".join(missing), f"apt-get install {packages}")


def tag_of(folder: Path) -> str:
    """Return the few letters that name a cluster's interfaces, namespaces and cgroups; an interface's name is short.

    Made from the folder alone, so that they can be cleared away when nothing else is known any more.
    """
    return hashlib.sha256(str(folder).encode()).hexdigest()[:6]


def run(command: Sequence[str]) -> str:
    """Run a command and return what it prints.

    Raises:
        LongshoreError: it failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LongshoreError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def run_anyway(command: Sequence[str]) -> None:
    """Run a command that may fail, as what it removes may be gone."""
    subprocess.run(command, capture_output=True, check=False)
