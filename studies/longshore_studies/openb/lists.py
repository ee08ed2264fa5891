"""Pod lists that go further than the ones at hand, made of the default list's pods: for a policy that has met neither.

    python -m longshore_studies.openb.lists --data DIR --out OUT [--seed 0]
    longshore table fgd --data OUT --policies fgd,openb --seeds 42-51 --bounds

The published lists change the default one in one way each: more pods without GPU, more of the GPUs asked for in parts,
or by pods that want several, or more pods that are bound to GPU models. These go beyond the ones that the policies were
selected on, in the same ways.
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.openb import (
    GPU_MILLI,
    NODE_FILE,
    POD_PREFIX,
    find_traces,
    read_pods,
    read_table,
)


@dataclass(frozen=True)
class Shares:
    """What a list is made of; by default as the default list is."""

    cpu_pods: float = 0.133
    """Of the pods: those that want no GPU."""
    partial: float = 0.285
    """Of the GPUs that are asked for: in parts of one."""
    several: float = 0.073
    """Of the GPUs that are asked for: by pods that want more than one."""
    bound: float = 0.0
    """Of the pods with GPUs: those that may use some models only, drawn from the lists at hand; 0 = as the pods say."""


LISTS: Mapping[str, Shares] = {
    "drawn-default": Shares(),
    "drawn-cpu250": Shares(cpu_pods=0.25),
    # With more in parts the published lists have less of everything else.
    "drawn-gpushare80": Shares(partial=0.8, several=0.015),
    "drawn-gpushare100": Shares(partial=1.0, several=0.0),
    # With more for several they keep parts and whole ones as they are to each other.
    "drawn-multigpu50": Shares(partial=0.5 * 0.307, several=0.5),
    "drawn-gpuspec33": Shares(bound=0.33),
    "drawn-gpuspec15": Shares(bound=0.15),
}


def draw(milli: Array, shares: Shares, rng: np.random.Generator) -> Array:
    """Return which pods [drawn] make a list, in random order, from the GPU milli that each asks for [pods].

    Raises:
        InputError: the list has no pod of a group that is wanted.
    """
    groups = (
        ((milli > 0) & (milli < GPU_MILLI), shares.partial),
        (milli == GPU_MILLI, 1 - shares.partial - shares.several),
        (milli > GPU_MILLI, shares.several),
    )
    parts = []
    for members, share in groups:
        many = round(share * milli.sum() / max(milli[members].mean(), 1)) if members.any() else share > 0
        parts.append(_some(members, many, rng))
    with_gpu = sum(len(part) for part in parts)
    without = _some(milli == 0, round(with_gpu * shares.cpu_pods / (1 - shares.cpu_pods)), rng)
    return rng.permutation(np.concatenate([*parts, without]))


def bind(milli: Array, share: float, models: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the GPU models that each pod [pods] may use, `` = any: those of so many of the pods with GPUs are drawn.

    Raises:
        InputError: there are none to draw from.
    """
    if not models:
        raise InputError(
            "got lists of which no pod is bound to GPU models, expected one that has such pods", "add a `gpuspec` list"
        )
    is_bound = (milli > 0) & (rng.random(len(milli)) < share)
    drawn: list[str] = np.where(is_bound, rng.choice(np.array(models), len(milli)), "").tolist()
    return drawn


def _some(members: Array, many: int, rng: np.random.Generator) -> Array:
    if many and not members.any():
        raise InputError(
            "got a default list without pods of one kind (no GPU, a part, one or several), expected pods of each",
            "take the published list",
        )
    return rng.choice(np.flatnonzero(members), many) if many else np.zeros(0, np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    milli = read_pods(given.data, "default").total_gpu_milli
    pods = read_table(given.data / f"{POD_PREFIX}default.csv", ("name", "gpu_spec"), "take the published list")
    nodes = (given.data / NODE_FILE).read_bytes()
    name, spec = pods.columns.index("name"), pods.columns.index("gpu_spec")
    lists = [read_pods(given.data, trace) for trace in find_traces(given.data)]
    models = ["|".join(one) for pods_of in lists for one in pods_of.models if one]
    chosen = {}
    for number, (trace, shares) in enumerate(LISTS.items()):
        rng = np.random.default_rng([given.seed, number])
        drawn = draw(milli, shares, rng)
        chosen[trace] = drawn, bind(milli[drawn], shares.bound, models, rng) if shares.bound else None
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / NODE_FILE).write_bytes(nodes)
    for trace, (drawn, specs) in chosen.items():
        with (given.out / f"{POD_PREFIX}{trace}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(pods.columns)
            for place, row in enumerate(drawn):
                values = list(pods.rows[row])
                values[name] = f"pod-{place:06d}"
                if specs is not None:
                    values[spec] = specs[place]
                writer.writerow(values)


if __name__ == "__main__":
    main()
