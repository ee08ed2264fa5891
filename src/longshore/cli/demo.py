"""`longshore demo`: a policy trained live, beside eight baselines on the thesis' two tests. No cluster is needed."""

import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compare import DEFAULT_OBJECTIVE, DEFAULT_POLICIES, DEFAULT_SEEDS, render, write_reports
from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.files import check_writable
from longshore.cli.output import JsonOption, emit, note
from longshore.cli.progress import stages

if TYPE_CHECKING:
    from longshore.evaluation.comparison import Comparison
    from longshore.evaluation.series import Series

WORKLOADS = ("test1", "test2")
OBJECTIVE = DEFAULT_OBJECTIVE
# A third of the default: enough for the optimum of test1.
_STEPS = 120_000

_NEXT = """
next:
  longshore train ppo --workload diurnal --nodes 8 --objective watts    # a policy for another workload and objective
  longshore models show {policy}    # what was trained, on what, how well
  longshore compare --workload deployments --objective variance    # another workload, another objective
  longshore compare --workload diurnal --nodes 32 --lag 15    # larger, with readings that are 15 s old
  longshore place examples/small-cluster.json --explain shop/api-2    # one decision, node by node
  {dump} > dump.json; longshore place dump.json    # your own cluster
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="demo")(demo)


def demo(
    seeds: Annotated[int, typer.Option(help="How many traces of each test.", min=1)] = DEFAULT_SEEDS,
    report: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("demo-report.html"),
    out: Annotated[Path, typer.Option(help="Where the trained policy goes.")] = Path("demo-policy"),
    json_mode: JsonOption = False,
) -> None:
    """Train a policy on test1, then play test1 and test2 under it and under eight baselines.

    Shows who keeps few machines on within the latency limits, and how far everybody is from the optimum.
    """
    keep_compiled_programs()
    check_writable(report, "--report")
    from longshore.evaluation.comparison import compare_traces
    from longshore.workloads.build import build_workload

    policies = DEFAULT_POLICIES.split(",")
    traces = {name: [build_workload(name, {}).trace(seed) for seed in range(seeds)] for name in WORKLOADS}
    found: list[Comparison] = []
    runs: list[Series] = []
    with stages() as tell:
        policies.append(_train(out, tell))
        for name, played in traces.items():
            found.append(compare_traces(name, played, policies, OBJECTIVE, progress=tell, series=runs))
    write_reports(found, runs, {name: played[0] for name, played in traces.items()}, report, datetime.now(UTC))
    emit(json_mode, {"comparisons": [one.to_json() for one in found]}, lambda: _render(found, out))


def _train(out: Path, tell: Callable[[str, int, int], None]) -> str:
    """Train a policy for the objective on test1 and return its folder."""
    from longshore.training.run.loop import Report, Watchers, train
    from longshore.training.run.plan import Plan

    def show(report: Report) -> None:
        tell(f"training {OBJECTIVE} on test1", round(100 * report.share), 100)

    plan = Plan(objective=OBJECTIVE, workload="test1", learner_config={"steps": _STEPS})
    train(plan, out, overwrite=True, watchers=Watchers(progress=show))
    return str(out)


def _render(found: "list[Comparison]", out: Path) -> None:
    from longshore.kube.dump import DUMP_COMMAND

    for one in found:
        render(one)
        print()
    note(_NEXT.format(policy=out, dump=DUMP_COMMAND) + how_to_call())


def how_to_call() -> str:
    """Say how the shell finds `longshore`, where it does not yet."""
    program = Path(sys.executable).parent / "longshore"
    if shutil.which("longshore") is not None or not program.exists():
        return ""
    if program.is_relative_to(Path.cwd()):
        program = program.relative_to(Path.cwd())
    return f"\n`longshore` is `{program}`; `source {program.parent / 'activate'}` lets your shell find it\n"
