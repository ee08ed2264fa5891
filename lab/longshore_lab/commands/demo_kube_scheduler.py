"""`longshore demo-kube-scheduler`: a policy trained just now inside kube-scheduler, and what if it is destroyed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compilation import keep_compiled_programs
from longshore.cli.output import JsonOption, emit, note
from longshore_lab.commands.demo_cluster import OBJECTIVE, run_demo, train_policy, write_results

if TYPE_CHECKING:
    from longshore.live.workload.result import LiveResult
    from longshore_lab.plugin_demo import Ranked

_WORKLOADS = ("test1", "test2")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="demo-kube-scheduler")(demo_kube_scheduler)


def demo_kube_scheduler(
    seed: Annotated[int, typer.Option(help="The seed of the workloads.", min=0)] = 0,
    speed: Annotated[float, typer.Option(help="Seconds of a workload in a real second.", min=0.1)] = 20.0,
    policy: Annotated[Path | None, typer.Option(help="A bundle's folder; by default one is trained now.")] = None,
    out: Annotated[Path, typer.Option(help="Where the trained policy goes.")] = Path("demo-policy"),
    name: Annotated[str, typer.Option(help="The cluster's name.")] = "longshore-plugin-demo",
    json_mode: JsonOption = False,
) -> None:
    """Bring a real cluster up, train EL-RL, let one kube-scheduler place test1 and test2 by each of its two profiles.

    At last test1 once more: half-way the bundle is destroyed, later kube-scheduler is killed, and scheduling goes on.
    """
    keep_compiled_programs()
    from longshore.policies.bundle_folder import read_folder, write_folder
    from longshore_lab.live_demo import OWN, STOCK, Demo, empty_cluster
    from longshore_lab.plugin_demo import Accidents, ranked, ranking

    bundle = None if policy is None else read_folder(policy)
    with empty_cluster(name, note, has_scheduler=False) as cluster:
        copy = cluster.folder / "demo-bundle"  # it is going to be destroyed
        write_folder(copy, bundle or read_folder(Path(train_policy(out))))
        results: dict[str, LiveResult] = {}
        with ranking(cluster, copy) as process:
            for workload in _WORKLOADS:
                demo = Demo(workload, seed, speed)
                for profile in (STOCK, OWN):
                    results[f"{workload}, {profile}"] = run_demo(cluster, demo, profile)
            again = Demo("test1", seed, speed)
            with Accidents(process, copy, note) as accidents:
                results[f"test1, {OWN}, destroyed"] = run_demo(cluster, again, OWN, accidents.watch)
            before, after = accidents.before_the_kill, ranked(process)
    payload = {
        "objective": OBJECTIVE,
        "runs": [{"name": key, **one.to_json()} for key, one in results.items()],
        "before_the_kill": None if before is None else before._asdict(),
        "after_the_kill": after._asdict(),
    }
    emit(json_mode, payload, lambda: _render(results, before, after))


def _render(results: "dict[str, LiveResult]", before: "Ranked | None", after: "Ranked") -> None:
    note("\none kube-scheduler with two profiles; the same pods on fresh equal nodes each time\n")
    write_results("workload, profile", results)
    disturbed = list(results.values())[-1]
    if before is not None:
        note(
            f"\nbefore kube-scheduler was killed: {before.pods} pods ranked by the policy, "
            f"{before.by_fallback} by upstream's scores; the destroyed bundle was refused {before.kept} times"
        )
    note(
        f"after it was started without a bundle: {after.by_fallback} of {after.pods} pods ranked by upstream's scores; "
        f"never bound in that run: {disturbed.never_bound}"
    )
