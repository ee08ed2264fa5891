"""Upstream's own scheduler_perf, on kube-scheduler as it is and with our plugin: pods per second beside each other.

    python benchmarks/scheduler_perf.py                                 SchedulingBasic with 500 and with 5,000 nodes
    python benchmarks/scheduler_perf.py --workloads SchedulingNodeAffinity/500Nodes --repeats 3

Every scheduler runs in a process of its own (API server and all, as upstream does it), and the order is turned round
with every repeat. `gate` is upstream's own threshold for the average, which is about its machines.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from longshore_lab.build import program_path

MODULE = Path(__file__).resolve().parent.parent / "scheduler" / "perf"
SCHEDULERS = ("sampled", "stock", "plugin", "fallback")
WORKLOADS = ("SchedulingBasic/500Nodes", "SchedulingBasic/5000Nodes_10000Pods_QueueingHintsEnabled")
THROUGHPUT = "SchedulingThroughput"
EXTENSION_POINTS = "scheduler_framework_extension_point_duration_seconds"
LIMIT = "3h"

Results = dict[tuple[str, str], list[dict[str, float]]]
"""By workload and scheduler, one entry per repeat."""


def main() -> int:
    """Run and print; exit 1 if a run gave no figures."""
    parser = argparse.ArgumentParser(description="upstream's scheduler_perf on stock kube-scheduler and on ours")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="upstream's, with commas between them")
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS), help=f"of {', '.join(SCHEDULERS)}")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    schedulers, workloads = arguments.schedulers.split(","), arguments.workloads.split(",")
    results: Results = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="scheduler-perf-") as name:
        folder = Path(name)
        program = folder / "perf.test"
        say("building …")
        # As `make controlplane` builds: what Go has compiled for the API server is then used again.
        command = ["nice", "go", "test", "-c", "-trimpath", "-o", str(program), "."]
        subprocess.run(command, cwd=MODULE, check=True)
        for repeat in range(arguments.repeats):
            for scheduler in schedulers if repeat % 2 == 0 else reversed(schedulers):
                output = folder / f"{scheduler}-{repeat}"
                output.mkdir()
                run(program, scheduler, arguments.workloads, output)
                collect(output, scheduler, workloads, results)
    show(results, workloads, schedulers)
    return int(any((workload, scheduler) not in results for workload in workloads for scheduler in schedulers))


def run(program: Path, scheduler: str, workloads: str, output: Path) -> None:
    """Run the workloads on one scheduler; a run below upstream's gate fails, but has its figures."""
    say(f"{scheduler} …")
    variables = {
        **os.environ,
        "SCHEDULER_PERF_WORKLOADS": workloads,
        "PATH": f"{program_path('etcd').parent}{os.pathsep}{os.environ['PATH']}",
        # Logs go to files there, which upstream removes where all went well.
        "ARTIFACTS": str(output),
        # With -trimpath the API server finds its certificates by these.
        "TEST_SRCDIR": _module_cache(),
        "TEST_WORKSPACE": ".",
    }
    command = [str(program), "-test.run=^$", f"-test.bench=^BenchmarkPerfScheduling$/^{scheduler}$"]
    command += ["-test.benchtime=1x", f"-test.timeout={LIMIT}", f"-data-items-dir={output}"]
    done = subprocess.run(
        command, cwd=MODULE, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if not list(output.glob("*.json")):
        say(f"{scheduler} gave no figures:\n{done.stdout[-4000:]}")


def _module_cache() -> str:
    command = ["go", "env", "GOMODCACHE"]
    return subprocess.run(command, cwd=MODULE, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def collect(output: Path, scheduler: str, workloads: list[str], results: Results) -> None:
    """Take the figures of a run out of upstream's files."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for path in output.glob("*.json"):
        for item in json.loads(path.read_text(encoding="utf-8"))["dataItems"]:
            labels, point = item["labels"], item["labels"].get("extension_point")
            workload = next((one for one in workloads if f"/{one}/" in labels.get("Name", "")), "")
            if labels.get("Metric") == THROUGHPUT:
                found[workload].update(item["data"])
            elif labels.get("Metric") == EXTENSION_POINTS and point in ("PreScore", "Score"):
                found[workload].update({f"{point}{key}": value for key, value in item["data"].items()})
    for workload, figures in found.items():
        if "Average" in figures:
            results[workload, scheduler].append(figures)


def show(results: Results, workloads: list[str], schedulers: list[str]) -> None:
    """Print a table: medians over the repeats; extension points in milliseconds."""
    columns = ("Average", "Perc50", "Perc90", "Perc95", "Perc99", "PreScorePerc50", "PreScorePerc99", "ScorePerc50")
    heads = ("workload", "scheduler", "pods/s average", "p50", "p90", "p95", "p99")
    heads += ("PreScore p50 ms", "p99 ms", "Score p50 ms", "gate")
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for workload in workloads:
        for scheduler in schedulers:
            found = results.get((workload, scheduler), [])
            cells = [_median(found, column) for column in columns]
            print(f"| {workload} | {scheduler} | {' | '.join(cells)} | {_median(found, 'AverageThreshold')} |")


def _median(found: list[dict[str, float]], column: str) -> str:
    values = [one[column] for one in found if column in one]
    if not values:
        return "-"
    return f"{median(values):.0f}" if median(values) >= 100 else f"{median(values):.3g}"


def say(message: str) -> None:
    """Print progress on stderr."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
