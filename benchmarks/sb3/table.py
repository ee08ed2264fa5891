"""The table of docs/results/sb3.md from what `learn.py` found: `python benchmarks/sb3/table.py build/sb3/*.json`.

Beside each MaskablePPO stand kube-default, energy-latency and our own PPO with its own defaults, on the same seeds.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from longshore.evaluation.comparison import compare
from longshore.evaluation.statistics import interval
from longshore.training.run.loop import train
from longshore.training.run.plan import Plan


def rows(workload: str, runs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the table's rows for one workload: who, return with interval, share of the best known, seconds, steps."""
    objective, report_seeds = runs[0]["objective"], len(runs[0]["returns"])
    folder = Path(tempfile.mkdtemp()) / "ours"
    started = time.perf_counter()
    trained = train(Plan(learner="ppo", network="deepsets", workload=workload, objective=objective), folder)
    seconds = time.perf_counter() - started
    names = {"kube-default": "kube-default", "energy-latency": "energy-latency", str(folder): "longshore PPO, deepsets"}
    found = compare(workload, list(names), objective, seeds=report_seeds)
    best = found.bounds["reward"]
    table = []
    for row, name in zip(found.rows, names.values(), strict=True):
        reward = row.metrics["reward"]
        is_ours = name.startswith("longshore")
        spent = (f"{seconds:.0f}", f"{trained.decided:,}") if is_ours else ("-", "-")
        table.append((name, reward.mean, f"[{reward.low:.1f}, {reward.high:.1f}]", *spent))
    for run in runs:
        reward = interval(np.array(run["returns"]))
        name = f"MaskablePPO, {run['settings']}, training seed {run['seed']}"
        spent = (f"{run['seconds']:.0f}", f"{run['steps']:,}")
        table.append((name, reward.mean, f"[{reward.low:.1f}, {reward.high:.1f}]", *spent))
    lines = [
        (who, f"{mean:.1f}", low_high, f"{mean / best.value:.1%}", *spent) for who, mean, low_high, *spent in table
    ]
    return [*lines, (f"best known ({best.method})", f"{best.value:.1f}", "", "100.0%", "-", "-")]


def main() -> None:
    """Print a Markdown table for every workload."""
    runs = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    print(f"versions: {runs[0]['versions']}")
    for workload in dict.fromkeys(run["workload"] for run in runs):
        print(f"\n{workload}, {runs[0]['objective']}, {len(runs[0]['returns'])} report seeds\n")
        print("| policy | return | 95 % interval | of the best known | training seconds | decisions |")
        print("|---|---|---|---|---|---|")
        for row in rows(workload, [run for run in runs if run["workload"] == workload]):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
