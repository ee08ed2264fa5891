"""The Markdown tables of docs/results/learning.md, from the files that `learning.py` wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from learning_rows import MATRIX, ROWS, Case, Row

from longshore.evaluation.statistics import bootstrap_means

# What each row is about: metric, and whether less of it is better.
_METRICS = {"ee": "active_nodes", "el-rl": "reward", "variance": "cpu_variance", "watts": "watts_idle_off"}


def render(folder: Path) -> str:
    """Return every table."""
    parts = [*_bars(folder), "", *_transfer(folder), "", *_dial(folder), "", *_limit(folder), "", *_matrix(folder)]
    return "\n".join(parts) + "\n"


def _bars(folder: Path) -> Iterator[str]:
    yield "| row | metric | selected training, mean [95 %] | all trainings | kube-default | best heuristic | bound |"
    yield "|---|---|---|---|---|---|---|"
    for name, row in ROWS.items():
        if name.startswith(("transfer", "dial", "limit")):
            continue
        found = _read(folder / f"{name}.json")
        if found is None:
            continue
        for case, report in zip(row.cases, found["reports"], strict=True):
            metric = _metric(row)
            values = np.array(report["metrics"][metric])
            yield (
                f"| `{name}`{_named(case)} | {metric} | {_interval(values[_selected(found)])} | "
                f"{_numbers(values.mean(axis=1))} | {_heuristics(folder, case, row, metric)} |"
            )


def _transfer(folder: Path) -> Iterator[str]:
    yield "| training | nodes | watts, selected training [95 %] | against the best heuristic, paired | kube-default |"
    yield "|---|---|---|---|---|"
    for name, row in ROWS.items():
        found = _read(folder / f"{name}.json")
        if not name.startswith("transfer") or found is None:
            continue
        for case, report in zip(row.cases, found["reports"], strict=True):
            values = np.array(report["metrics"]["watts_idle_off"])[_selected(found)]
            baseline = _read(folder / f"baseline-{case.key(row.plan['objective'])}.json")
            if baseline is None:
                continue
            others = {one["policy"]: np.array(one["values"]["watts_idle_off"]) for one in baseline["rows"]}
            best = min(others, key=lambda policy: others[policy].mean())
            change = 100 * (1 - values / others[best])
            yield (
                f"| `{name}` | {case.config['nodes']} | {_interval(values)} | {_interval(change)} % less than {best} "
                f"| {others['kube-default'].mean():.5g} |"
            )


def _dial(folder: Path) -> Iterator[str]:
    found = _read(folder / "dial-ee-lb.json")
    if found is None:
        return
    yield "| dial (ee, lb) | active nodes | CPU variance | reward ee + lb |"
    yield "|---|---|---|---|"
    for report in found["reports"]:
        means = {key: np.array(value)[_selected(found)].mean() for key, value in report["metrics"].items()}
        shown = " | ".join(f"{means[key]:.4g}" for key in ("active_nodes", "cpu_variance", "reward"))
        yield f"| {report['dial']} | {shown} |"


def _limit(folder: Path) -> Iterator[str]:
    yield "| training | p99 latency, ms, all trainings | placements beyond, % | watts idle off, all trainings |"
    yield "|---|---|---|---|"
    for name, row in ROWS.items():
        found = _read(folder / f"{name}.json")
        if not name.startswith("limit") or found is None:
            continue
        metrics, beyond = found["reports"][0]["metrics"], found["reports"][0].get("limit_cost")
        yield (
            f"| `{name}` | {_numbers(np.array(metrics['latency_p99_ms']).mean(axis=1))} | "
            f"{_numbers(100 * np.array(beyond)) if beyond else '-'} | "
            f"{_numbers(np.array(metrics['watts_idle_off']).mean(axis=1))} |"
        )
        baseline = _read(folder / f"baseline-{row.cases[0].key(row.plan['objective'])}.json")
        if name != "limit-none" or baseline is None:
            continue
        for one in baseline["rows"]:
            if one["policy"] in ("kube-default", "lowest-latency", "low-power", "energy-latency"):
                latency, watts = (one["metrics"][key]["mean"] for key in ("latency_p99_ms", "watts_idle_off"))
                yield f"| {one['policy']} | {latency:.4g} | - | {watts:.4g} |"


def _matrix(folder: Path) -> Iterator[str]:
    yield (
        "| objective | learner | network | reward, selected training [95 %] | all trainings | random [95 %] | apart "
        "| more than random, paired |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, row in MATRIX.items():
        found = _read(folder / f"{name}.json")
        baseline = _read(folder / f"baseline-{row.cases[0].key(row.plan['objective'])}.json")
        if found is None or baseline is None:
            continue
        values = np.array(found["reports"][0]["metrics"]["reward"])
        row_of_random = next(one for one in baseline["rows"] if one["policy"] == "random")
        random = row_of_random["metrics"]["reward"]
        chosen = values[_selected(found)]
        is_apart = _bounds(chosen)[0] > random["high"]
        task = name.split("-" + row.plan["learner"])[0].removeprefix("matrix-")
        yield (
            f"| {task} | {row.plan['learner']} | {row.plan['network']} | {_interval(chosen)} | "
            f"{_numbers(values.mean(axis=1))} | {random['mean']:.5g} [{random['low']:.5g}, {random['high']:.5g}] | "
            f"{'yes' if is_apart else '**no**'} | {_interval(chosen - np.array(row_of_random['values']['reward']))} |"
        )


def _heuristics(folder: Path, case: Case, row: Row, metric: str) -> str:
    baseline = _read(folder / f"baseline-{case.key(row.plan['objective'])}.json")
    if baseline is None:
        return "- | - | -"
    means = {one["policy"]: one["metrics"][metric]["mean"] for one in baseline["rows"]}
    best = (max if metric == "reward" else min)(means, key=lambda policy: means[policy])
    bound = baseline["bounds"].get(metric, {})
    shown = "-" if bound.get("value") is None else f"{bound['value']:.5g} ({bound['method']})"
    return f"{means['kube-default']:.5g} | {means[best]:.5g} ({best}) | {shown}"


def _metric(row: Row) -> str:
    objective = row.plan["objective"]
    name = "watts" if "watts" in objective else objective
    if name == "watts" and row.plan["workload"] == "fill":
        return "peak_watts_idle_off"
    return _METRICS.get(name, "reward")


def _named(case: Case) -> str:
    parts = [f"{name} {value}" for name, value in case.config.items()] + ([f"lag {case.lag:g} s"] if case.lag else [])
    return f" ({', '.join(parts)})" if parts else ""


def _selected(found: dict[str, Any]) -> int:
    return int(np.argmax(found["selection_worth"]))


def _bounds(values: np.ndarray) -> tuple[float, float]:
    _, low, high = bootstrap_means(values[:, None])
    return float(low[0]), float(high[0])


def _interval(values: np.ndarray) -> str:
    low, high = _bounds(values)
    return f"{values.mean():.5g} [{low:.5g}, {high:.5g}]"


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.5g}" for value in values)


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.is_file() else None
