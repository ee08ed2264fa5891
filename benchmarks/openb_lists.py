"""Pod lists that go further than the ones at hand, made of the default list's pods: for a policy that has met neither.

    python benchmarks/openb_lists.py --data DIR --out OUT [--seed 0]
    longshore table fgd --data OUT --policies fgd,bundles/openb --seeds 42-51 --bounds

The published lists change the default one in one way each: more pods without GPU, more of the GPUs asked for in parts,
or by pods that want several. These go beyond the ones that the policies were selected on, in the same ways.
"""

import argparse
import csv
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longshore.core.ops import Array
from longshore.evaluation.tables.openb import GPU_MILLI, NODE_FILE, POD_PREFIX, read_pods


@dataclass(frozen=True)
class Shares:
    """What a list is made of."""

    cpu_pods: float = 0.133
    """Of the pods: those that want no GPU."""
    partial: float = 0.285
    """Of the GPUs that are asked for: in parts of one."""
    several: float = 0.073
    """Of the GPUs that are asked for: by pods that want more than one."""


LISTS: Mapping[str, Shares] = {
    "drawn-default": Shares(),
    "drawn-cpu250": Shares(cpu_pods=0.25),
    "drawn-gpushare80": Shares(partial=0.8, several=0.015),
    "drawn-gpushare100": Shares(partial=1.0, several=0.0),
    "drawn-multigpu50": Shares(partial=0.307 * 0.5, several=0.5),
}


def draw(milli: Array, shares: Shares, rng: np.random.Generator) -> Array:
    """Return which pods [drawn] make a list, in random order, from the GPU milli that each asks for [pods]."""
    groups = (
        ((milli > 0) & (milli < GPU_MILLI), shares.partial),
        (milli == GPU_MILLI, 1 - shares.partial - shares.several),
        (milli > GPU_MILLI, shares.several),
    )
    parts = []
    for members, share in groups:
        drawn = rng.choice(np.flatnonzero(members), len(milli) * 3)
        parts.append(drawn[np.cumsum(milli[drawn]) <= share * milli.sum()])
    with_gpu = sum(len(part) for part in parts)
    without = round(with_gpu * shares.cpu_pods / (1 - shares.cpu_pods))
    return rng.permutation(np.concatenate([*parts, rng.choice(np.flatnonzero(milli == 0), without)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    milli = read_pods(given.data, "default").total_gpu_milli
    with (given.data / f"{POD_PREFIX}default.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    given.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(given.data / NODE_FILE, given.out / NODE_FILE)
    rng = np.random.default_rng(given.seed)
    name = header.index("name")
    for trace, shares in LISTS.items():
        with (given.out / f"{POD_PREFIX}{trace}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for number, row in enumerate(draw(milli, shares, rng)):
                writer.writerow([*rows[row][:name], f"pod-{number:06d}", *rows[row][name + 1 :]])


if __name__ == "__main__":
    main()
