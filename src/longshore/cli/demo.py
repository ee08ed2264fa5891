"""`longshore demo`: the thesis' two tests under eight baselines, with a table and a report. No cluster is needed."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compare import DEFAULT_POLICIES, check_report, render, write_reports
from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.output import JsonOption, emit, note
from longshore.cli.progress import stages

if TYPE_CHECKING:
    from longshore.evaluation.comparison import Comparison

WORKLOADS = ("test1", "test2")

_NEXT = """
next:
  longshore compare --workload deployments --objective variance     # another workload, another objective
  longshore compare --workload diurnal --nodes 32 --lag 15          # larger, with readings that are 15 s old
  longshore place examples/small-cluster.json --explain shop/api-2  # one decision, node by node
  kubectl get nodes,pods,… -A -o json > dump.json; longshore place dump.json    # your own cluster"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="demo")(demo)


def demo(
    seeds: Annotated[int, typer.Option(help="How many traces of each test.", min=1)] = 12,
    report: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("demo-report.html"),
    json_mode: JsonOption = False,
) -> None:
    """Play test1 and test2 under eight baselines and show who keeps few machines on within the latency limits."""
    keep_compiled_programs()
    check_report(report)
    from longshore.evaluation.comparison import compare_traces
    from longshore.evaluation.series import simulate_trace
    from longshore.workloads.build import build_workload

    policies = DEFAULT_POLICIES.split(",")
    traces = {name: [build_workload(name, {}).trace(seed) for seed in range(seeds)] for name in WORKLOADS}
    found, runs = [], []
    with stages() as tell:
        for name, played in traces.items():
            found.append(compare_traces(name, played, policies, "el-rl", progress=tell))
            tell(f"{name}: report", 0, len(policies))
            runs += [simulate_trace(name, played[0], policy, "el-rl") for policy in policies]
    write_reports(found, runs, {name: played[0] for name, played in traces.items()}, report, datetime.now(UTC))
    emit(json_mode, {"comparisons": [one.to_json() for one in found]}, lambda: _render(found))


def _render(found: "list[Comparison]") -> None:
    for one in found:
        render(one)
    note(_NEXT)
