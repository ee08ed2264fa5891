"""`longshore demo-cluster`: test1 in a real cluster, under stock kube-scheduler and under a policy trained just now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.cli.progress import stages
from longshore.cli.workload import measure, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from longshore.live.workload.result import LiveResult
    from longshore.live.workload.run import Progress
    from longshore_lab.cluster import LocalCluster
    from longshore_lab.live_demo import Demo

OBJECTIVE = "el-rl"
# As of `longshore demo`: a third of the default, enough for the optimum of test1.
_STEPS = 120_000
# The columns of `longshore compare`; --json has every metric.
_COLUMNS = (
    "reward",
    "active_nodes",
    "cpu_variance",
    "latency_ms",
    "hard_violations",
    "watts",
    "watts_idle_off",
    "unschedulable",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="demo-cluster")(demo_cluster)


def demo_cluster(
    seed: Annotated[int, typer.Option(help="The seed of test1.", min=0)] = 0,
    speed: Annotated[float, typer.Option(help="Seconds of test1 in a real second.", min=0.1)] = 10.0,
    policy: Annotated[
        str | None, typer.Option(help="A policy's name or a bundle's folder; by default one is trained now.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the trained policy goes.")] = Path("demo-policy"),
    name: Annotated[str, typer.Option(help="The cluster's name.")] = "longshore-demo",
    json_mode: JsonOption = False,
) -> None:
    """Bring a real cluster up, train EL-RL, run test1 under kube-scheduler and under longshore, compare, clear away.

    Both place the same pods on the same fresh nodes, and what is measured is what the cluster did.
    """
    keep_compiled_programs()
    from longshore_lab.live_demo import OWN, STOCK, Demo, empty_cluster, scheduling

    demo = Demo(seed=seed, speed=speed)
    with empty_cluster(name, note) as cluster:
        bundle = policy or train_policy(out)
        stock = run_demo(cluster, demo, STOCK)
        with scheduling(cluster, bundle):
            own = run_demo(cluster, demo, OWN)
    results = {"kube-scheduler": stock, f"longshore ({bundle})": own}
    payload = {"objective": OBJECTIVE, "runs": [{"name": key, **one.to_json()} for key, one in results.items()]}
    emit(json_mode, payload, lambda: _render(demo, results))


def run_demo(
    cluster: "LocalCluster",
    demo: "Demo",
    scheduler_name: str,
    watch: "Callable[[Progress], None]" = lambda _: None,
) -> "LiveResult":
    """Run a demo's workload under a scheduler of the cluster; `watch` is told how far it is."""
    from longshore.kube.config import load_identity

    run = demo.run(scheduler_name)
    observed = play(load_identity(cluster.kubeconfig), demo.trace, run, watch)
    return measure(observed, demo.workload, run, OBJECTIVE)


def train_policy(out: Path) -> str:
    """Train the demo's policy; return the folder of its bundle."""
    from longshore.training.run.loop import Report, Watchers, train
    from longshore.training.run.plan import Plan

    with stages() as tell:

        def show(report: Report) -> None:
            tell(f"training {OBJECTIVE} on test1", round(100 * report.share), 100)

        plan = Plan(objective=OBJECTIVE, workload="test1", learner_config={"steps": _STEPS})
        train(plan, out, overwrite=True, watchers=Watchers(progress=show))
    return str(out)


def _render(demo: "Demo", results: "dict[str, LiveResult]") -> None:
    told = f"{demo.workload}, seed {demo.seed}, {demo.speed:g} times as fast"
    note(f"\n{told}; the same pods on fresh equal nodes each time\n")
    write_results("scheduler", results)
    note("\none run each: `longshore evaluate` and `longshore compare` have intervals over many seeds, simulated")


def write_results(what: str, results: "dict[str, LiveResult]") -> None:
    """Print a row of figures for each run, under the name that it has among the results."""
    rows = []
    for name, result in results.items():
        values = [f"{result.series.metrics[column]:.4g}" for column in _COLUMNS]
        rows.append((name, *values, f"{1000 * result.waits.p50:.0f} ms"))
    write_table((what, *_COLUMNS, "wait (median)"), rows)
