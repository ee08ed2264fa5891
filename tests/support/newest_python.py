"""Prints the newest Python of this machine that is newer than the one that runs this; nothing where there is none."""

import os
import re
import subprocess
import sys
from pathlib import Path

_PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2])"


def candidates() -> set[Path]:
    """Return everything on the PATH, and in pyenv's folder, that is called like a Python with a version."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    names = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    return {path for path in names if re.fullmatch(r"python3\.\d+", path.name)}


def version(path: Path) -> tuple[int, int]:
    """Return the version of a Python that can make environments; (0, 0) for one that cannot, or does not run."""
    done = subprocess.run([str(path), "-c", _PROBE], capture_output=True, text=True, check=False)
    major, _, minor = done.stdout.strip().partition(" ")
    return (int(major), int(minor)) if done.returncode == 0 and minor.isdigit() else (0, 0)


if __name__ == "__main__":
    found = {path: version(path) for path in candidates()}
    newest = max(found, key=lambda path: (found[path], str(path)), default=None)
    if newest is not None and found[newest] > sys.version_info[:2]:
        sys.stdout.write(f"{newest}\n")
