"""The learned rows of the outside tables: trains the policies, joins them into the bundles, draws their front.

    python -m longshore_studies.openb.study train  --data DIR --out runs/openb [--trainings 3] [--seed 0] [--parts 0,1]
    python -m longshore_studies.openb.study refine --data DIR --out runs/openb [--only power-0] [--bundle DIR]
    python -m longshore_studies.openb.study select --data DIR --runs runs/openb --out bundles
    python -m longshore_studies.openb.study front  --data DIR --bundle openb --out docs/results/front.json

`train` plays varied mixes of the default list's pods; three trainings for each of three goals go side by side in one
program, which is meant for a GPU (about 17 minutes on an H200). Where a machine is lent for less, `--parts` trains one
part of the plan; the one after the first goes on from what OUT holds. `refine` goes on from there by another search,
one training after the other, four to eight minutes each on an H200; `--bundle` begins from a bundle that is there
already. `select` takes, for each goal, the training that does best on the lists of DIR with seeds that no report uses;
`openb.special` then adds what the policies know of clusters whose CPU is scarce, and of pods that are bound to GPU
models. `longshore table fgd|pwr` reports on seeds 42 to 51. `front` plays mixes of the preference and the baselines,
and draws what can be had together.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

from longshore.policies.bundle_folder import read_folder
from longshore.policies.learned import learned
from longshore.training.run.export import versions, write_beside
from longshore_studies.openb import training as filling
from longshore_studies.openb.bundling import TERMS, envelope_of, make_bundle, split
from longshore_studies.openb.filling import Filled, Filling, axes_of, fill, fill_all
from longshore_studies.openb.mixed_runs import LEVELS
from longshore_studies.openb.refine import Refinement, refine
from longshore_studies.openb.tables.levels import is_at_level
from longshore_studies.openb.tables.openb import Nodes, find_traces, read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem, side_by_side

SELECTION_SEEDS = range(1000, 1004)
"""Arrival orders by which trainings are chosen; reports are on 42 to 51."""
BASELINES = (
    "random",
    "dot-product",
    "gpu-clustering",
    "gpu-packing",
    "gpu-best-fit",
    "fgd",
    "fgd-u",
    "pwr",
    "pwr200-fgd800",
)
ALL_GOALS = filling.Schedule((filling.Stage(4, 170, 0.7), filling.Stage(4, 100, 0.25)))
LAST_GOALS: Mapping[str, filling.Goal] = {
    "allocation": {"allocated": (0, 0, 4, 6, 4, 4)},
    "nodes": {"allocated": (0, 0, 20, 2, 0.4, 0.1), "nodes_on": (-4, -2, -1.5, 0, 0, 0)},
}
"""What two of the goals weigh at the end: nearly full clusters, and that no pod is turned away up to 80 %."""
PLAN: Sequence[tuple[Mapping[str, filling.Goal], filling.Schedule]] = (
    (filling.GOALS, ALL_GOALS),
    (LAST_GOALS, filling.Schedule((filling.Stage(2, 110, 0.2),), mixes=8)),
)
"""All goals on a quarter of the cluster; then some on half of it and on more mixes, which takes the noise out."""


@dataclass(frozen=True)
class Refined:
    """How a training is refined."""

    goal: filling.Goal
    moves: Sequence[Sequence[float]] = (filling.TOGETHER,)
    """Which weights are searched, of those for each of `LOADS`."""
    stages: Sequence[Refinement] = (
        Refinement(every=4, generations=150, deviation=0.05, population=128, mixes=24),
        Refinement(every=2, generations=40, deviation=0.02, population=128, mixes=24),
    )


REFINED: Mapping[str, Refined] = {
    "allocation": Refined({"allocated": (0, 0, 0.5, 0.5, 2, 10)}),
    "power": Refined({"allocated": (0, 0, 2, 2, 1.5, 0.5), "watts": (-3, -0.8, -1.8, 0, 0, 0)}),
    # An empty and a full cluster get weights of their own: few nodes first, no pod turned away later.
    "nodes": Refined(
        {"allocated": (0, 0, 200, 2, 0.4, 0.1), "nodes_on": (-30, -0.5, -0.3, 0, 0, 0)},
        moves=((1, 0, 0), (0, 1, 0)),
    ),
}
STEEPER = (0.0, 0.25, 0.5, 0.75)
"""How much further apart the weights for an empty and a full cluster are tried, where a training has both."""
NAMES = {"allocation": "openb", "power": "openb-power", "nodes": "openb-nodes"}


def train(data: Path, out: Path, trainings: int, seed: int, shorten: int, parts: Sequence[int]) -> None:
    """Train all goals, so many times each, and write every training's tensors."""
    out.mkdir(parents=True, exist_ok=True)
    nodes, pods, sets = read_nodes(data), read_pods(data, "default"), model_sets(data)
    for part in parts:
        goals, schedule = PLAN[part]
        stages = tuple(replace(one, generations=max(one.generations // shorten, 1)) for one in schedule.stages)
        names = [goal for goal in goals for _ in range(trainings)]
        files = [out / f"{name}.safetensors" for name in _numbered(names)]
        start = [load_file(file) for file in files] if part else None
        log = Log(out, _numbered(names))
        # Parts draw other noise than the ones before them.
        filling.train(
            nodes,
            pods,
            sets,
            [goals[name] for name in names],
            seed + 1000 * part,
            replace(schedule, stages=stages),
            start,
            log.add,
        )
        log.write("log.json", seed, repr(schedule), is_first=not part)


def refine_all(data: Path, out: Path, only: Sequence[str], seed: int, shorten: int, bundle: Path | None) -> None:
    """Go on from the trainings in OUT, and write over them; where a bundle is given, from its policies."""
    if bundle is not None:
        out.mkdir(parents=True, exist_ok=True)
        for goal, tensors in split(read_folder(bundle)).items():
            save_file(
                {name: np.ascontiguousarray(leaf) for name, leaf in tensors.items()}, out / f"{goal}-0.safetensors"
            )
    nodes, pods, sets = read_nodes(data), read_pods(data, "default"), model_sets(data)
    for path in sorted(out.glob("*-*.safetensors")):
        name = path.stem
        if only and name not in only:
            continue
        goal, number = name.rsplit("-", 1)
        how = REFINED[goal]
        stages = [replace(one, generations=max(one.generations // shorten, 1)) for one in how.stages]
        log = Log(out, [name])
        start = load_file(path)
        if how.moves != (filling.TOGETHER,):
            start = filling.by_load(start)
        refine(
            nodes,
            pods,
            sets,
            how.goal,
            seed + int(number),
            stages,
            start,
            log.add,
            moves=how.moves,
        )
        log.write(f"{name}.json", seed, repr(how), is_first=True)


class Log:
    """What a training says about itself, also to whoever waits for it, and its best tensors so far."""

    def __init__(self, out: Path, names: Sequence[str]) -> None:
        self._out, self._names, self._started = out, names, time.monotonic()
        self._rows: list[dict[str, Any]] = []

    def add(self, judged: filling.Judged) -> None:
        row = {
            "seconds": round(time.monotonic() - self._started, 1),
            "stage": judged.stage,
            "generation": judged.generation,
            "fitness": dict(zip(self._names, [round(float(one), 3) for one in judged.fitness], strict=True)),
            "allocated": [[round(float(one), 2) for one in row] for row in judged.results.allocated],
        }
        self._rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        for name, tensors in zip(self._names, judged.best, strict=True):
            save_file(tensors, self._out / f"{name}.safetensors")

    def write(self, name: str, seed: int, schedule: str, *, is_first: bool) -> None:
        path = self._out / name
        before: dict[str, Any] = {"seconds": 0.0, "schedule": [], "log": []}
        if not is_first:
            before = json.loads(path.read_text())
        facts = {
            "seed": seed,
            "seconds": round(before["seconds"] + time.monotonic() - self._started, 1),
            "device": jax.devices()[0].device_kind,
            "schedule": [*before["schedule"], schedule],
            "log": [*before["log"], *self._rows],
        }
        path.write_text(json.dumps(facts, indent=1))


def select(data: Path, runs: Path, out: Path) -> None:
    """Judge every training on the lists of DIR, choose one for each goal, and write the bundles."""
    nodes = read_nodes(data)
    problems = {trace: Problem(nodes, read_pods(data, trace)) for trace in find_traces(data)}
    played = {trace: side_by_side([one.run(seed)[0] for seed in SELECTION_SEEDS]) for trace, one in problems.items()}
    best: dict[str, dict[str, np.ndarray]] = {}
    chosen: dict[str, dict[str, float]] = {}
    trainings: dict[str, int] = {}
    for goal in filling.GOALS:
        judged = []
        paths = sorted(runs.glob(f"{goal}-*.safetensors"))
        for path in paths:
            trained = load_file(path)
            for by in STEEPER if filling.has_ends(trained) else (0.0,):
                tensors = filling.steeper(trained, by)
                per_trace = [
                    figures(one, played[trace], play(tensors, played[trace], one.num_shares))
                    for trace, one in problems.items()
                ]
                found = {key: float(np.mean([one[key] for one in per_trace])) for key in per_trace[0]}
                judged.append((worth(REFINED[goal].goal, found, nodes), tensors, found))
                print(path.name, by, json.dumps({key: round(value, 4) for key, value in found.items()}), flush=True)
        _, best[goal], chosen[goal] = max(judged, key=lambda one: one[0])
        trainings[goal] = len(paths)
    log = json.loads((runs / "log.json").read_text()) if (runs / "log.json").exists() else {}
    envelope = envelope_of(problems["default"], [filling.scored_by(one) for one in best.values()], SELECTION_SEEDS[0])
    for goal, name in NAMES.items():
        provenance = {
            "learner": "evolution",
            "network": "kinds",
            "workload": "mixes of openb's default pod list",
            "command": "python -m longshore_studies.openb.study train, refine, then select",
            "seed": log.get("seed"),
            "seconds": log.get("seconds"),
            "schedule": log.get("schedule"),
            "note": log.get("note", ""),
            "selection_seeds": list(SELECTION_SEEDS),
            "trainings": trainings,
            "versions": versions(log.get("device", "unknown")),
        }
        metrics = {f"selection_{key}": value for key, value in chosen[goal].items()}
        (out / name).mkdir(parents=True, exist_ok=True)
        write_beside(out / name, make_bundle(name, best, goal, envelope, provenance, metrics))


def front(data: Path, bundle: Path, out: Path, trace: str, seeds: Sequence[int]) -> None:
    """Play mixes of the preference and the baselines, for the picture of what can be had together."""
    from longshore.policies import REGISTRY

    problem = Problem(read_nodes(data), read_pods(data, trace))
    played = side_by_side([problem.run(seed)[0] for seed in seeds])
    policy = read_folder(bundle)
    rows: list[dict[str, Any]] = []
    steps = 4
    mixes = [(a, b, steps - a - b) for a in range(steps + 1) for b in range(steps + 1 - a)]
    for mix in mixes:
        weights = dict(zip(TERMS.values(), [one / steps for one in mix], strict=True))
        found = figures(problem, played, fill_all(learned(policy, weights), played, problem.num_shares))
        rows.append({"policy": "+".join(f"{term}={weight:g}" for term, weight in weights.items()), **found})
        print(json.dumps(rows[-1]), flush=True)
    for name in BASELINES:
        outcome = fill_all(REGISTRY.load(name), played, problem.num_shares)
        rows.append({"policy": name, **figures(problem, played, outcome)})
        print(json.dumps(rows[-1]), flush=True)
    out.write_text(json.dumps({"trace": trace, "seeds": list(seeds), "rows": rows}, indent=1) + "\n")
    draw(rows, out.with_suffix(".svg"))


def draw(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Draw allocation against watts and against nodes: one learned policy as its dial turns, and the baselines."""
    import matplotlib as mpl

    from longshore.evaluation.colours import INK, MUTED
    from longshore.evaluation.report_svg import dress, make_figure, settings

    with settings(), mpl.rc_context({"svg.hashsalt": "front"}):
        figure = make_figure(860, 400)
        panels = figure.subplots(1, 2)
        labels = (
            ("megawatts_added_50", "MW that pods add at 50 % demand"),
            ("nodes_50", "nodes with a pod at 50 % demand"),
        )
        for axes, (key, label) in zip(panels, labels, strict=True):
            dress(axes, x_label=label, y_label="GPUs allocated at 100 % demand, %", grid="both")
            turned = [row for row in rows if "=" in row["policy"]]
            axes.scatter([row[key] for row in turned], [row["allocated_100"] for row in turned], c="#0072b2", s=26)
            for row in rows:
                is_end = row["policy"].count("=0") == len(TERMS) - 1
                if "=" in row["policy"] and not is_end:
                    continue
                if not is_end:
                    axes.scatter([row[key]], [row["allocated_100"]], c=MUTED, marker="x", s=26)
                name = (
                    next(part[:-2] for part in row["policy"].split("+") if part.endswith("=1"))
                    if is_end
                    else row["policy"]
                )
                shown = (row[key], row["allocated_100"])
                axes.annotate(
                    name, shown, (4, 3), textcoords="offset points", color="#0072b2" if is_end else INK, fontsize=8
                )
        figure.suptitle(
            "One learned policy as its dial turns (blue), and the baselines: openb default, seeds 42 to 51", color=INK
        )
        figure.savefig(out, metadata={"Date": None}, facecolor="white")


@partial(jax.jit, static_argnames=("num_shares",))
def play(tensors: filling.Tensors, played: Filling, num_shares: int) -> Filled:
    """Play runs with a training's tensors; compiled once for all of them."""
    policy = filling.scored_by(tensors)
    return jax.vmap(lambda one: fill(policy, one, num_shares), in_axes=(axes_of(played),))(played)


def figures(problem: Problem, played: Filling, outcome: Filled) -> dict[str, float]:
    """Return means over the runs: allocation at 80, 90, 100 and 130 %, added MW and nodes at 20, 50 and 80 %."""
    capacity = problem.nodes.gpu_capacity_milli
    wanted = np.asarray(played.arrays.classes.gpu_milli * played.arrays.classes.gpu_count)[np.asarray(played.pod_class)]
    # Pods that fill a run up may go nowhere, and ask for nothing.
    wanted = np.where(np.asarray(played.models) == played.allowed.shape[1] - 1, 0, wanted)
    arrived = np.cumsum(wanted, axis=1)

    def at(changes: object, percent: int) -> float:
        total = np.cumsum(np.asarray(changes, np.float64), axis=1)
        return float(
            np.mean([row[is_at_level(of, capacity, percent)].mean() for row, of in zip(total, arrived, strict=True)])
        )

    found = {f"allocated_{percent}": 100 * at(outcome.milli, percent) / capacity for percent in (80, 90, 100, 130)}
    found |= {f"megawatts_added_{percent}": at(outcome.watts, percent) / 1e6 for percent in (20, 50, 80)}
    return found | {f"nodes_{percent}": at(outcome.nodes_on, percent) for percent in (20, 50, 80)}


def worth(goal: filling.Goal, found: Mapping[str, float], nodes: Nodes) -> float:
    """Weigh what was found on lists as a training weighs it on mixes."""
    units = {
        "allocated": ("allocated", 1.0),
        "watts": ("megawatts_added", 1e9 / nodes.gpu_capacity_milli),
        "nodes_on": ("nodes", 100 / len(nodes.names)),
    }
    return sum(
        weight * units[name][1] * found[f"{units[name][0]}_{percent}"]
        for name, weights in goal.items()
        for weight, percent in zip(weights, LEVELS, strict=True)
        if weight
    )


def model_sets(data: Path) -> list[tuple[str, ...]]:
    return sorted({models for trace in find_traces(data) for models in read_pods(data, trace).models if models})


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{name}-{names[:place].count(name)}" for place, name in enumerate(names)]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "refine", "select", "front"):
        one = commands.add_parser(name)
        one.add_argument("--data", type=Path, required=True)
        one.add_argument("--out", type=Path, required=True)
        if name == "train":
            one.add_argument("--trainings", type=int, default=3)
            one.add_argument("--seed", type=int, default=0)
            one.add_argument("--parts", default="0,1", help="which parts of the plan, in order")
            one.add_argument("--shorten", type=int, default=1, help="a so-manieth of the generations, to try it out")
        elif name == "refine":
            one.add_argument("--only", default="", help="which trainings, such as allocation-0; all without it")
            one.add_argument("--seed", type=int, default=0)
            one.add_argument("--shorten", type=int, default=1, help="a so-manieth of the generations, to try it out")
            one.add_argument("--bundle", type=Path, help="begin from its policies, as training 0 of each goal")
        elif name == "select":
            one.add_argument("--runs", type=Path, required=True)
        else:
            one.add_argument("--bundle", type=Path, required=True)
            one.add_argument("--trace", default="default")
    given = parser.parse_args()
    if given.command == "train":
        parts = [int(one) for one in given.parts.split(",")]
        train(given.data, given.out, given.trainings, given.seed, given.shorten, parts)
    elif given.command == "refine":
        only = [one for one in given.only.split(",") if one]
        refine_all(given.data, given.out, only, given.seed, given.shorten, given.bundle)
    elif given.command == "select":
        select(given.data, given.runs, given.out)
    else:
        front(given.data, given.bundle, given.out, given.trace, range(42, 52))


if __name__ == "__main__":
    main()
