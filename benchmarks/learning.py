"""The learning results of docs/results/learning.md: every row is trained, selected and reported by this program.

    python benchmarks/learning.py list                       the rows
    python benchmarks/learning.py run ROW… --out DIR         train and report rows, one JSON file each
    python benchmarks/learning.py untrained ROW…             what 20 networks earn before any training
    python benchmarks/learning.py baselines --out DIR        the heuristics and bounds beside them
    python benchmarks/learning.py table DIR                  the tables in Markdown

Training traces have seeds from 1,000,000, selection traces from 2,000,000, report traces from 0 or, with
`--first-seed`, from another: for a report that nobody had seen when the row was made. A row trains five seeds at once;
each training keeps its best policy by the selection traces, and the report shows all five.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from learning_rows import MATRIX, ROWS, Row


def run(name: str, out: Path, first_seed: int = 0) -> None:
    """Train and report one row."""
    import jax
    import numpy as np

    from longshore.training.run.plan import Plan
    from longshore.training.run.prepare import prepare

    row: Row = {**ROWS, **MATRIX}[name]
    started = time.monotonic()
    plan = Plan(**row.plan)
    prepared = prepare(plan)
    program, data = prepared.program, prepared.data
    state = program.init(data, jax.vmap(jax.random.PRNGKey)(np.arange(plan.seed, plan.seed + plan.seeds)))
    curve, prices, chunks = [], [], 0
    while chunks < prepared.chunks if prepared.steps == 0 else int(np.asarray(state.decided).min()) < prepared.steps:
        state, figures = program.chunk(data, state)
        chunks += 1
        curve.append([round(time.monotonic() - started, 2), np.asarray(figures["selection_return"]).tolist()])
        prices.append(
            {one: np.asarray(figures[one]).tolist() for one in ("multiplier", "limit_cost", "selection_cost")}
        )
    trained = time.monotonic() - started
    found: dict[str, Any] = {
        "row": name,
        "plan": plan.to_json(),
        "first_report_seed": first_seed,
        "features": list(program.task.features),
        "seconds_to_train": round(trained, 1),
        "decisions": np.asarray(state.decided).tolist(),
        "selection_return": np.asarray(state.best_return).tolist(),
        "selection_worth": np.asarray(state.best_worth).tolist(),
        "curve": curve,
        "limit_curve": prices if plan.limit else [],
    }
    found["reports"] = reports(row, first_seed, program, state.best, bool(plan.limit))
    found["seconds"] = round(time.monotonic() - started, 1)
    (out / f"{name}.json").write_text(json.dumps(found))
    best = int(np.argmax(found["selection_worth"]))
    shown = {
        key: [float(f"{np.nanmean(one):.5g}") for one in found["reports"][0]["metrics"][key]]
        for key in ("reward", "active_nodes", "cpu_variance", "watts_idle_off", "latency_p99_ms", "hard_violations")
    }
    if plan.limit:
        shown["limit_cost"] = found["reports"][0]["limit_cost"]
    print(f"{name}: {trained:.0f} s, selected training {best}, {shown}", flush=True)


def reports(row: Row, first_seed: int, program: Any, best: Any, has_limit: bool) -> list[dict[str, Any]]:
    """Play the row's cases with every training, on the traces of the report."""
    import numpy as np

    from longshore.simulator.play import compile_traces
    from longshore.training.run.report import report
    from longshore.workloads.build import build_workload

    found = []
    for case in row.cases:
        workload = build_workload(case.workload, case.config)
        seeds = range(first_seed, first_seed + row.report_seeds)
        traces = compile_traces([workload.trace(seed) for seed in seeds], lag_seconds=case.lag)
        for dial in case.dials or [None]:
            preference = None if dial is None else np.array(dial, np.float32)
            metrics = report(program.task, program.blueprint, best, traces, preference)
            found.append(
                {
                    "workload": case.workload,
                    "config": dict(case.config),
                    "lag": case.lag,
                    "dial": dial,
                    "metrics": {key: value.tolist() for key, value in metrics.items()},
                    "limit_cost": limit_costs(program, best, traces) if has_limit else [],
                }
            )
    return found


def limit_costs(program: Any, tensors: Any, traces: Any) -> list[float]:
    """Return each training's cost by its limit, over all placements of all traces: for a quantile, the share beyond."""
    import jax
    import numpy as np

    from longshore.core.network.forward import needed
    from longshore.simulator.play import stack
    from longshore.training.program.greedy import POLICIES, TRACES, judge_all

    params, ops = stack([one.params for one in traces]), needed(program.blueprint.ops)
    over = (POLICIES, TRACES)
    judged = jax.jit(lambda of: judge_all(program.task, ops, of, params, np.zeros(0, np.float32), over))(tensors)
    costs: list[float] = (np.asarray(judged.cost).sum(axis=1) / np.asarray(judged.placed).sum(axis=1)).tolist()
    return costs


def baselines(out: Path, only: str = "", first_seed: int = 0) -> None:
    """Play the heuristics on the same report traces."""
    from longshore.evaluation.comparison import compare

    done = set()
    for row in (*ROWS.values(), *MATRIX.values()):
        for case in row.cases:
            key = case.key(row.plan["objective"])
            if key in done or (only and only not in key) or (out / f"baseline-{key}.json").exists():
                continue
            done.add(key)
            found = compare(
                case.workload,
                list(case.policies),
                row.plan["objective"],
                seeds=row.report_seeds,
                first_seed=first_seed,
                parameters=case.config,
                lag_seconds=case.lag,
                filters="upstream",
                has_bounds=case.has_bounds,
            )
            (out / f"baseline-{key}.json").write_text(json.dumps(found.to_json()))
            print(key, {one.policy: round(one.metrics["reward"].mean, 4) for one in found.rows}, flush=True)


def untrained(name: str, number: int = 20) -> None:
    """Report networks as they are drawn: what is due to training is what lies beyond them."""
    import jax
    import numpy as np

    from longshore.core.network.forward import needed, tensor_names
    from longshore.simulator.play import compile_traces
    from longshore.training.run.plan import Plan
    from longshore.training.run.prepare import prepare
    from longshore.training.run.report import report
    from longshore.workloads.build import build_workload

    row, case = ROWS[name], ROWS[name].cases[0]
    program = prepare(Plan(**row.plan)).program
    drawn = jax.vmap(program.blueprint.init)(jax.vmap(jax.random.PRNGKey)(np.arange(number)))
    tensors = {one: drawn[one] for one in tensor_names(needed(program.blueprint.ops))}
    workload = build_workload(case.workload, case.config)
    traces = compile_traces([workload.trace(seed) for seed in range(row.report_seeds)])
    rewards = report(program.task, program.blueprint, tensors, traces)["reward"].mean(axis=1)
    print(name, [float(f"{reward:.5g}") for reward in sorted(rewards)])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    running = commands.add_parser("run")
    running.add_argument("rows", nargs="+")
    drawn = commands.add_parser("untrained")
    drawn.add_argument("rows", nargs="+")
    others = commands.add_parser("baselines")
    others.add_argument("--only", default="", help="a part of the key")
    for one in (running, others):
        one.add_argument("--out", type=Path, default=Path("learning-results"))
        one.add_argument("--first-seed", type=int, default=0, help="of the report traces")
    tables = commands.add_parser("table")
    tables.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "list":
        print("\n".join([*ROWS, *MATRIX]))
    elif arguments.command == "run":
        arguments.out.mkdir(parents=True, exist_ok=True)
        for name in arguments.rows:
            run(name, arguments.out, arguments.first_seed)
    elif arguments.command == "untrained":
        for name in arguments.rows:
            untrained(name)
    elif arguments.command == "baselines":
        arguments.out.mkdir(parents=True, exist_ok=True)
        baselines(arguments.out, arguments.only, arguments.first_seed)
    else:
        from learning_table import render

        sys.stdout.write(render(arguments.folder))


if __name__ == "__main__":
    main()
