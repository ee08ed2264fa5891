#!/usr/bin/env python3
"""Writes what users install into a folder: wheel, sdist, chart archive, and their checksums.

    .venv/bin/python deploy/dist.py [--out dist]

The same commit gives the same bytes on every machine: times and owners in the archives are fixed.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "chart" / "longshore"
CHECKSUMS = "SHA256SUMS"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder; what it held of ours is replaced")
    for path in write(parser.parse_args().out):
        print(path)


def write(out: Path) -> list[Path]:
    """Write everything, and return the files."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("longshore-*"), out / CHECKSUMS):
        old.unlink(missing_ok=True)
    epoch = source_date()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(out.resolve())]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (out / f"longshore-{chart_version()}.tgz").write_bytes(chart_archive(epoch))
    files = sorted(out.glob("longshore-*"))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / CHECKSUMS).write_text("".join(sums))
    return [*files, out / CHECKSUMS]


def source_date() -> int:
    """Return when the commit was made that is checked out, seconds since 1970; a copy without Git counts as 1980."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 315_532_800


def chart_version() -> str:
    """Return the chart's own version."""
    (version,) = re.findall(r"^version: (\S+)$", (CHART / "Chart.yaml").read_text(encoding="utf-8"), re.M)
    return version


def chart_archive(epoch: int) -> bytes:
    """Return the chart as `helm install` takes it: a folder of its name, packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(f"{CHART.name}/{path.relative_to(CHART).as_posix()}")
            entry.size, entry.mtime, entry.mode = path.stat().st_size, epoch, 0o644
            tar.addfile(entry, io.BytesIO(path.read_bytes()))
    return gzip.compress(packed.getvalue(), mtime=epoch)


if __name__ == "__main__":
    main()
