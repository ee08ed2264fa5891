#!/usr/bin/env python3
"""Writes go.mod's `replace` block: every staging module of Kubernetes at the release that belongs to it.

k8s.io/kubernetes names its staging modules at v0.0.0 and replaces them by folders of its own tree, which a module that
merely requires it does not have. The published copies are k8s.io/X v0.MINOR.PATCH; this script reads the list of names
from upstream's own go.mod (so that a new module cannot be missed) and pins each of them.

    python3 replaces.py                         rewrites go.mod beside this file
    python3 replaces.py ../scheduler            rewrites another module's
    python3 replaces.py --check [FOLDER …]      exit 1 when a go.mod is not what the script would write
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

OWN_FOLDER = Path(__file__).resolve().parent
UPSTREAM = "k8s.io/kubernetes"
BEGIN = "// Written by replaces.py: the staging modules of the release above."
STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/\S+) => \./staging/src/", re.MULTILINE)


def required_version(go_mod: str) -> str:
    """The version of k8s.io/kubernetes that go.mod requires, such as v1.36.3."""
    found = re.search(rf"^(?:require)?\s+{re.escape(UPSTREAM)} (v1\.\S+)$", go_mod, re.MULTILINE)
    if not found:
        sys.exit(f"go.mod: no `require {UPSTREAM} v1.MINOR.PATCH` found\nhint: add that line, then run again")
    return found.group(1)


def upstream_go_mod(version: str) -> str:
    """The text of upstream's own go.mod, by way of Go's module cache."""
    command = ["go", "mod", "download", "-json", f"{UPSTREAM}@{version}"]
    done = subprocess.run(command, cwd=OWN_FOLDER, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        problem = done.stderr.strip() or done.stdout.strip()
        sys.exit(f"{' '.join(command)} failed: {problem}\nhint: is Go's module proxy reachable?")
    return Path(json.loads(done.stdout)["GoMod"]).read_text(encoding="utf-8")


def replace_block(upstream: str, version: str) -> str:
    """The replace block; staging modules of v1.36.3 are published as v0.36.3."""
    names = sorted(set(STAGING.findall(upstream)))
    if not names:
        sys.exit(
            f"{UPSTREAM} {version}: its go.mod replaces no staging module\nhint: its layout changed; update STAGING"
        )
    staging_version = version.replace("v1.", "v0.", 1)
    lines = "\n".join(f"\t{name} => {name} {staging_version}" for name in names)
    return f"{BEGIN}\nreplace (\n{lines}\n)\n"


def with_block(go_mod: str, block: str) -> str:
    """go.mod with the generated block in the place of the old one, or at the end."""
    old = re.compile(rf"{re.escape(BEGIN)}\nreplace \(\n.*?\n\)\n", re.DOTALL)
    if old.search(go_mod):
        return old.sub(lambda _: block, go_mod)
    return f"{go_mod.rstrip()}\n\n{block}"


def update(go_mod: Path, *, check: bool) -> bool:
    """Rewrites one go.mod, or only looks; says whether it was out of date."""
    now = go_mod.read_text(encoding="utf-8")
    version = required_version(now)
    wanted = with_block(now, replace_block(upstream_go_mod(version), version))
    if check and wanted != now:
        print(f"{go_mod}: the replace block is out of date\nhint: run `python3 replaces.py`", file=sys.stderr)
    elif wanted != now:
        go_mod.write_text(wanted, encoding="utf-8")
    return wanted != now


def main() -> int:
    """Rewrites go.mod, or checks it."""
    parser = argparse.ArgumentParser(description="pin the staging modules of Kubernetes in go.mod")
    parser.add_argument("folders", nargs="*", type=Path, default=[OWN_FOLDER], help="folders with a go.mod")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a go.mod is out of date")
    arguments = parser.parse_args()
    stale = [update(folder / "go.mod", check=arguments.check) for folder in arguments.folders]
    return int(arguments.check and any(stale))


if __name__ == "__main__":
    sys.exit(main())
