"""What `bundles/openb` adds to its weights where CPU is as scarce as GPUs (docs/decisions/0010): trained and chosen.

    python benchmarks/openb_scarce.py train  --data DIR --out runs/scarce [--bundle bundles/openb] [--seed 0]
    python benchmarks/openb_lists.py         --data DIR --out LISTS --seed 1
    python benchmarks/openb_scarce.py select --data DIR --lists LISTS --runs runs/scarce [--bundles bundles]

`train` begins from nothing, whatever the bundle has for it, and takes six and a half minutes on an H200; the seed is
the training's number. `select` plays the drawn lists with every training, as it is and strengthened, and writes the
best of them into the bundles; the bundle as it was is among them. Reports are on other lists (`openb_lists.py --seed
0`) and on seeds 42 to 51.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from openb import NAMES, SELECTION_SEEDS, Log, figures, model_sets, play
from safetensors.numpy import load_file

from longshore.core.errors import InputError
from longshore.evaluation.tables.openb import find_traces, read_nodes, read_pods
from longshore.evaluation.tables.problem import Problem, side_by_side
from longshore.policies.bundle_folder import read_folder
from longshore.training import filling
from longshore.training.export import write_policy
from longshore.training.filling_bundle import make_policy, split
from longshore.training.filling_refine import RANGES, Refinement, refine
from longshore.training.mixed_runs import LEVELS

GOAL: filling.Goal = {"allocated": (0, 0, 6, 11, 3, 6)}
"""More weight on 80 and 90 % than elsewhere: that is where pods were turned away."""
MIXES = replace(RANGES, cpu_pods=(0.21, 0.29), partial=(0.1, 0.8), several=(0.0, 0.4), constrained=(-1.0, -0.5))
"""With so many pods that want no GPU, CPU is scarce in most mixes; with fewer most of them say nothing about it."""
STAGE = Refinement(
    every=4, generations=100, deviation=0.12, population=128, mixes=24, pool=192, selection=96, is_steady=True
)
TIMES = (1.0, 1.25, 1.5, 2.0)
"""How much stronger what was learnt is tried."""
LIST_SEEDS = range(1000, 1010)
"""Arrival orders of the drawn lists by which is chosen."""
FIRST = "allocation"
BEFORE = "the bundle as it was"


def train(data: Path, out: Path, bundle: Path, seed: int, shorten: int) -> None:
    """Learn what is added, and write the tensors."""
    out.mkdir(parents=True, exist_ok=True)
    log = Log(out, [f"scarce-{seed}"])
    start = filling.scarce_times(split(read_folder(bundle))[FIRST], 0.0)
    stage = replace(STAGE, generations=max(STAGE.generations // shorten, 1))
    nodes, pods, sets = read_nodes(data), read_pods(data, "default"), model_sets(data)
    refine(nodes, pods, sets, GOAL, seed, [stage], start, log.add, moves=((0, 0, 1),), ranges=MIXES)
    log.write(f"scarce-{seed}.json", seed, repr(stage), is_first=True)


def select(data: Path, lists: Path, runs: Path, bundles: Path) -> None:
    """Choose by the drawn lists, and write the bundles with it."""
    policies = {goal: read_folder(bundles / name) for goal, name in NAMES.items()}
    tried, logs = {BEFORE: split(policies[FIRST])[FIRST]}, {}
    # A training that was cut short has tensors, and no log.
    for path in sorted(runs.glob("scarce-*.json")):
        for times in TIMES:
            name = f"{path.stem}, {times:g} times"
            tried[name] = filling.scarce_times(load_file(path.with_suffix(".safetensors")), times)
            logs[name] = json.loads(path.read_text())
    if not logs:
        raise InputError(f"got `{runs}` without a finished training", "run `openb_scarce.py train --out` with it first")
    judged = {}
    for name, found in _figures_on(lists, tried, LIST_SEEDS).items():
        judged[name] = sum(
            weight * found[f"allocated_{percent}"]
            for weight, percent in zip(GOAL["allocated"], LEVELS, strict=True)
            if weight
        )
        print(name, round(judged[name], 3), _rounded(found), flush=True)
    best = max(judged, key=lambda name: judged[name])
    given = _figures_on(data, {name: tried[name] for name in (BEFORE, best)}, SELECTION_SEEDS)
    print(f"takes {best}; on the lists of {data}:", {name: _rounded(found) for name, found in given.items()})
    if best == BEFORE:
        return
    log = logs[best]
    for goal, policy in policies.items():
        provenance = {
            **policy.provenance,
            "scarce_cpu": (
                f"python benchmarks/openb_scarce.py train --seed {log['seed']} ({log['seconds']:.0f} s of an"
                f" {log['device']}), then select: {best}; {len(judged)} were tried, with {BEFORE}"
            ),
        }
        metrics = {f"selection_{key}": value for key, value in given[best].items()} if goal == FIRST else policy.metrics
        by_goal = {**split(policy), FIRST: tried[best]}
        new = make_policy(NAMES[goal], by_goal, goal, policy.envelope, provenance, metrics)
        write_policy(bundles / NAMES[goal], new)


def _figures_on(folder: Path, tried: Mapping[str, filling.Tensors], seeds: range) -> dict[str, dict[str, float]]:
    """Return means over the lists of a folder, for each of the policies that are tried."""
    nodes, found = read_nodes(folder), {name: [] for name in tried}
    for trace in find_traces(folder):
        problem = Problem(nodes, read_pods(folder, trace))
        played = side_by_side([problem.run(seed)[0] for seed in seeds])
        for name, tensors in tried.items():
            found[name].append(figures(problem, played, play(tensors, played, problem.num_shares)))
    return {name: {key: float(np.mean([one[key] for one in rows])) for key in rows[0]} for name, rows in found.items()}


def _rounded(found: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, 3) for key, value in found.items() if key.startswith("allocated")}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--bundle", type=Path, default=Path("bundles/openb"))
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--shorten", type=int, default=1, help="a so-manieth of the generations, to try it out")
    one = commands.add_parser("select")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--lists", type=Path, required=True)
    one.add_argument("--runs", type=Path, required=True)
    one.add_argument("--bundles", type=Path, default=Path("bundles"))
    given = parser.parse_args()
    if given.command == "train":
        train(given.data, given.out, given.bundle, given.seed, given.shorten)
    else:
        select(given.data, given.lists, given.runs, given.bundles)


if __name__ == "__main__":
    main()
