#!/usr/bin/env python3
"""Builds the plugin and its kube-scheduler against another release of Kubernetes, to see that it still compiles.

    python3 compat.py                 the releases that the README's table names, beside the pinned one
    python3 compat.py v1.35.4         one of them

The sources are copied, without tests, to a temporary folder with a go.mod of its own, that of the other release; here
nothing is written to. Some minutes for a release that Go has not built before, seconds afterwards.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REPLACES = FOLDER.parent / "controlplane" / "replaces.py"
RELEASES = ("v1.35.4",)
STAGING = ("api", "apimachinery", "client-go", "component-base", "component-helpers", "kube-scheduler")


def go_mod(release: str) -> str:
    """A go.mod for the release; the staging modules' replace lines are added by replaces.py, the rest by Go."""
    pinned = (FOLDER / "go.mod").read_text(encoding="utf-8")
    go = re.search(r"^go \S+$", pinned, re.MULTILINE)
    staging = release.replace("v1.", "v0.", 1)
    required = "".join(f"\tk8s.io/{name} {staging}\n" for name in STAGING)
    return (
        f"module longshore.dev/scheduler\n\n{go[0] if go else 'go 1.26.0'}\n\n"
        f"require (\n{required}\tk8s.io/kubernetes {release}\n)\n"
    )


def copy_sources(target: Path) -> None:
    """Copies the files that are part of the program."""
    for path in (*FOLDER.rglob("*.go"), *FOLDER.rglob("*.s")):
        if not path.name.endswith("_test.go") and path.name != "tools.go":
            copy = target / path.relative_to(FOLDER)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def build(release: str) -> bool:
    """Builds all packages against the release; says whether it worked."""
    with tempfile.TemporaryDirectory(prefix="longshore-compat-") as folder:
        target = Path(folder)
        copy_sources(target)
        (target / "go.mod").write_text(go_mod(release), encoding="utf-8")
        subprocess.run([sys.executable, str(REPLACES), folder], check=True)
        variables = {**os.environ, "GOFLAGS": "-mod=mod -p=2"}
        done = subprocess.run(["go", "build", "-o", os.devnull, "./..."], cwd=folder, env=variables, check=False)
    sys.stderr.write(f"{release}: {'builds' if done.returncode == 0 else 'does not build'}\n")
    return done.returncode == 0


def main() -> int:
    """Builds against the releases that were asked for."""
    parser = argparse.ArgumentParser(description="build the plugin against other releases of Kubernetes")
    parser.add_argument("releases", nargs="*", default=RELEASES, help="such as v1.35.4")
    results = [build(release) for release in parser.parse_args().releases]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
