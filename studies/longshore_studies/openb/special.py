"""What the openb policies know of special clusters, learnt and chosen by itself: nothing changes for all others.

    python -m longshore_studies.openb.special train  WHAT --data DIR --out runs/special [--bundle DIR] [--seed 0]
    python -m longshore_studies.openb.lists               --data DIR --out LISTS --seed 1
    python -m longshore_studies.openb.special select WHAT --data DIR --lists LISTS --runs runs/special [--bundles DIR]

WHAT is `scarce` (CPU is as scarce as GPUs, docs/decisions/0010) or `bound` (pods may use some GPU models only,
docs/decisions/0011). `train` begins from nothing, whatever the bundle has for it; the seed is the training's number.
`select` plays the drawn lists with every training, as it is and strengthened, and writes the best of them into the
bundles; the bundle as it was is among them. Reports are on other lists (`openb.lists --seed 0`) and on seeds 42 to
51.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from longshore.core.arrays.ops import Array
from longshore.core.network.forward import LOADS, POD_KINDS
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import read_folder
from longshore.training.run.export import write_beside
from longshore_studies.openb import training as filling
from longshore_studies.openb.bundling import envelope_of, make_bundle, split, wider
from longshore_studies.openb.refine import RANGES, Refinement, refine
from longshore_studies.openb.study import NAMES, SELECTION_SEEDS, Log, figures, model_sets, play, worth
from longshore_studies.openb.tables.mixes import MixRanges
from longshore_studies.openb.tables.openb import find_traces, read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem, side_by_side
from longshore_studies.openb.training import FEATURES, WEIGHT, Tensors


@dataclass(frozen=True)
class Special:
    """What is special, and how it is learnt."""

    provenance: str
    """Where the bundle says how it came about."""
    goals: Mapping[str, filling.Goal]
    """Of the policies that learn it."""
    mixes: MixRanges
    stage: Refinement
    lists: Sequence[str]
    """Drawn lists by which is chosen."""
    features: Sequence[str] = FEATURES
    """Whose weights are learnt."""
    loads: Sequence[str] = ("empty", "full")
    """Which of them, of those for each of `LOADS`."""

    @property
    def moves(self) -> list[list[float]]:
        """One search direction for each of those."""
        return [[float(load == one) for load in LOADS] for one in self.loads]

    def put(self, tensors: Tensors, weights: Array | float) -> Tensors:
        """Return a policy with other weights for what is special, and its own for all else."""
        own = filling.by_load(tensors)
        is_learnt = np.isin(FEATURES, self.features)[:, None] & np.isin(np.tile(LOADS, len(POD_KINDS)), self.loads)
        return {**own, WEIGHT: np.where(is_learnt, weights, own[WEIGHT]).astype(np.float32)}


SPECIALS: Mapping[str, Special] = {
    # More weight on 80 and 90 % than elsewhere: that is where pods were turned away. With so many pods that want no
    # GPU, CPU is scarce in most mixes; with fewer most of them say nothing about it.
    "scarce": Special(
        "scarce_cpu",
        {"allocation": {"allocated": (0, 0, 6, 11, 3, 6)}},
        replace(RANGES, cpu_pods=(0.21, 0.29), partial=(0.1, 0.8), several=(0.0, 0.4), constrained=(-1.0, -0.5)),
        Refinement(
            every=4, generations=100, deviation=0.12, population=128, mixes=24, pool=192, selection=96, is_steady=True
        ),
        ("drawn-cpu250", "drawn-default", "drawn-gpushare80", "drawn-gpushare100", "drawn-multigpu50"),
        loads=("cpu scarce",),
    ),
    # The one feature that is the same for all nodes where pods may use any of them. Some sets of models are asked for
    # as much as others that hold many times as many GPUs: these are to be kept for them.
    "bound": Special(
        "bound_pods",
        {"allocation": {"allocated": (0, 0, 4, 6, 4, 8)}},
        replace(RANGES, constrained=(0.05, 0.4), held=(0.0, 1.0)),
        Refinement(every=4, generations=60, deviation=0.3, population=64, mixes=24, pool=192, selection=64),
        ("drawn-gpuspec15", "drawn-gpuspec33"),
        features=("gpu_model_wanted",),
    ),
}
TIMES = (1.0, 1.25, 1.5, 2.0)
"""How much stronger what was learnt is tried."""
LIST_SEEDS = range(1000, 1010)
"""Arrival orders of the drawn lists by which is chosen."""
BEFORE = "the bundle as it was"


def train(what: str, data: Path, out: Path, bundle: Path, seed: int, shorten: int) -> None:
    """Learn it for each of its goals, and write the tensors."""
    special = SPECIALS[what]
    out.mkdir(parents=True, exist_ok=True)
    policies = split(read_folder(bundle))
    nodes, pods, sets = read_nodes(data), read_pods(data, "default"), model_sets(data)
    stage = replace(special.stage, generations=max(special.stage.generations // shorten, 1))
    for goal, weights in special.goals.items():
        log = Log(out, [f"{what}-{goal}-{seed}"])
        start = special.put(policies[goal], 0)
        refine(
            nodes,
            pods,
            sets,
            weights,
            seed,
            [stage],
            start,
            log.add,
            moves=special.moves,
            ranges=special.mixes,
            features=special.features,
        )
        log.write(f"{what}-{goal}-{seed}.json", seed, repr(stage), is_first=True)


def select(what: str, data: Path, lists: Path, runs: Path, bundles: Path) -> None:
    """Choose by the drawn lists, and write the bundles with it."""
    special, nodes = SPECIALS[what], read_nodes(data)
    policies = {goal: read_folder(bundles / name) for goal, name in NAMES.items()}
    by_goal = split(policies["allocation"])
    said: dict[str, str] = {}
    metrics = {goal: policy.metrics for goal, policy in policies.items()}
    for goal, weights in special.goals.items():
        tried, logs = _candidates(special, f"{what}-{goal}", runs, by_goal[goal])
        judged = {}
        for name, found in _figures_on(lists, special.lists, tried, LIST_SEEDS).items():
            judged[name] = worth(weights, found, nodes)
            print(name, round(judged[name], 3), _rounded(found), flush=True)
        best = max(judged, key=lambda name: judged[name])
        print(f"takes {best}", flush=True)
        if best == BEFORE:
            continue
        by_goal[goal], log = tried[best], logs[best]
        metrics[goal] = {f"selection_{key}": value for key, value in _given(data, tried[best]).items()}
        said[goal] = f"{best} ({log['seconds']:.0f} s of an {log['device']}); {len(judged)} were tried, with {BEFORE}"
    if not said:
        return
    ends = [filling.scored_by(one) for one in by_goal.values()]
    envelope = policies["allocation"].envelope
    for trace in special.lists:
        met = envelope_of(Problem(nodes, read_pods(lists, trace)), ends, LIST_SEEDS[0])
        envelope = wider(envelope, met)
    note = f"python -m longshore_studies.openb.special train {what}, then select: " + "; ".join(
        f"{goal}: {text}" for goal, text in said.items()
    )
    for goal, policy in policies.items():
        provenance = {**policy.provenance, special.provenance: note}
        new = make_bundle(NAMES[goal], by_goal, goal, envelope, provenance, metrics[goal])
        write_beside(bundles / NAMES[goal], new)


def _candidates(
    special: Special, name: str, runs: Path, before: Tensors
) -> tuple[dict[str, Tensors], dict[str, Mapping[str, float]]]:
    """Return the policies that are tried, and the logs of those that were trained."""
    tried, logs = {BEFORE: before}, {}
    # A training that was cut short has tensors, and no log.
    for path in sorted(runs.glob(f"{name}-*.json")):
        trained = load_file(path.with_suffix(".safetensors"))
        for times in TIMES:
            one = f"{path.stem}, {times:g} times"
            tried[one] = special.put(before, times * trained[WEIGHT])
            logs[one] = json.loads(path.read_text())
    if not logs:
        raise InputError(
            f"got `{runs}` without a finished training of {name}", "run `openb.special train --out` with it first"
        )
    return tried, logs


def _given(data: Path, tensors: Tensors) -> dict[str, float]:
    """Return means over all lists that are given."""
    return _figures_on(data, find_traces(data), {"": tensors}, SELECTION_SEEDS)[""]


def _figures_on(
    folder: Path, traces: Sequence[str], tried: Mapping[str, Tensors], seeds: range
) -> dict[str, dict[str, float]]:
    """Return means over lists of a folder, for each of the policies that are tried."""
    nodes = read_nodes(folder)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in tried}
    for trace in traces:
        problem = Problem(nodes, read_pods(folder, trace))
        played = side_by_side([problem.run(seed)[0] for seed in seeds])
        for name, tensors in tried.items():
            found[name].append(figures(problem, played, play(tensors, played, problem.num_shares)))
    return {name: {key: float(np.mean([one[key] for one in rows])) for key in rows[0]} for name, rows in found.items()}


def _rounded(found: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, 3) for key, value in found.items()}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "select"):
        one = commands.add_parser(name)
        one.add_argument("what", choices=SPECIALS)
        one.add_argument("--data", type=Path, required=True)
        if name == "train":
            one.add_argument("--out", type=Path, required=True)
            one.add_argument("--bundle", type=Path, default=Path("openb"))
            one.add_argument("--seed", type=int, default=0)
            one.add_argument("--shorten", type=int, default=1, help="a so-manieth of the generations, to try it out")
        else:
            one.add_argument("--lists", type=Path, required=True)
            one.add_argument("--runs", type=Path, required=True)
            one.add_argument("--bundles", type=Path, default=Path("bundles"))
    given = parser.parse_args()
    if given.command == "train":
        train(given.what, given.data, given.out, given.bundle, given.seed, given.shorten)
    else:
        select(given.what, given.data, given.lists, given.runs, given.bundles)


if __name__ == "__main__":
    main()
