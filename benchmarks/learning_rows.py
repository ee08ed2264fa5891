"""What `learning.py` trains: one row per claim, and the matrix of every learner with every network that it takes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

IDLE_OFF_WATTS = "terms: [{name: watts, switch_off_idle: true}]"
SEEDS = 5
BASELINE_POLICIES = (
    "kube-default", "random", "round-robin", "least-allocated", "most-allocated", "best-fit", "worst-fit", "first-fit",
    "low-power", "energy-latency", "lowest-latency",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Where a trained policy is reported."""

    workload: str
    config: Mapping[str, Any] = field(default_factory=dict)
    lag: float = 0.0
    dials: Sequence[Sequence[float]] = ()
    has_bounds: bool = True
    policies: Sequence[str] = BASELINE_POLICIES
    """Heuristics beside it."""

    def key(self, objective: str) -> str:
        """Return a name for the file of the baselines on this case."""
        settings = "-".join(f"{name}={value}" for name, value in self.config.items())
        parts = [self.workload, settings, f"lag{self.lag:g}" if self.lag else "", objective]
        return re.sub(r"[^\w.=-]+", "_", "-".join(part for part in parts if part))


@dataclass(frozen=True)
class Row:
    """One training (of several seeds) and where it is reported."""

    plan: Mapping[str, Any]
    cases: tuple[Case, ...]
    report_seeds: int = 12


def _row(
    objective: str,
    workload: str,
    *cases: Case,
    config: Mapping[str, Any] | None = None,
    report_seeds: int = 12,
    **plan: Any,
) -> Row:
    config = config or {}
    base = {"objective": objective, "workload": workload, "workload_config": config, "seeds": SEEDS}
    return Row({**base, **plan}, cases or (Case(workload, config),), report_seeds)


_FEW_PODS = {"constrained_share": 0.0, "days": 0.2}
_TRANSFER = {"nodes": 8, "pods": 320, "shapes": "small,medium,old", **_FEW_PODS}

_CALM = {"nodes": 9, "pods": 250, "load": 0.3, "constrained_share": 0.0}
# Lifetimes are long against the time between arrivals: what a placement costs shows late.
_LONG = {"discount": 0.98, "steps": 1_500_000, "envs": 128}

ROWS: dict[str, Row] = {
    **{f"ee-{test}": _row("ee", test) for test in ("test1", "test2")},
    **{f"el-rl-{test}": _row("el-rl", test, Case(test), Case(test, lag=15.0)) for test in ("test1", "test2")},
    "el-rl-test1-lag15": _row("el-rl", "test1", Case("test1", lag=15.0), lag_seconds=15.0),
    "variance-deployments": _row(
        "variance",
        "deployments",
        *(Case("deployments", {"load": load}, has_bounds=False) for load in (0.2, 0.4, 0.6, 0.88)),
        config={"load": 0.6, "resets": 1},
        learner_config={"discount": 0.9},
    ),
    "watts-fill": _row(IDLE_OFF_WATTS, "fill", config={"nodes": 8}),
    "watts-fill-evolution": _row(IDLE_OFF_WATTS, "fill", config={"nodes": 8}, learner="evolution"),
    "watts-diurnal-evolution": _row(
        IDLE_OFF_WATTS,
        "diurnal",
        Case("diurnal", {"nodes": 8}),
        config={"nodes": 8, "pods": 400, "days": 0.5},
        learner="evolution",
        learner_config={"generations": 100, "traces": 8},
        traces=48,
    ),
    "watts-diurnal": _row(
        IDLE_OFF_WATTS,
        "diurnal",
        Case("diurnal", {"nodes": 8}),
        config={"nodes": 8, "pods": 400, "days": 0.5},
        learner_config=_LONG,
        traces=48,
    ),
    **{
        f"{objective}-memory-pods-{learner}": _row(
            objective, "memory-pods", learner=learner, learner_config=config, traces=48
        )
        for objective in ("compress", "balance")
        for learner, config in (
            ("qtable", {"may_defer": False}),
            ("dqn", {"steps": 400_000}),
            ("ppo", {}),
            ("evolution", {}),
        )
    },
    **{
        f"transfer-{name}": _row(
            IDLE_OFF_WATTS,
            "diurnal",
            *(
                Case(
                    "diurnal",
                    {"nodes": 8 * times, "pods": 320 * times, **_FEW_PODS},
                    has_bounds=False,
                    policies=("kube-default", "most-allocated", "best-fit", "low-power", "energy-latency"),
                )
                for times in (1, 2, 4, 8, 16, 32)
            ),
            config=_TRANSFER,
            learner=learner,
            network=network,
            learner_config=config,
            prior=prior,
            traces=96,
            selection_traces=24,
        )
        for name, learner, network, config, prior in (
            ("evolution-linear", "evolution", "linear", {"generations": 120}, ""),
            ("ppo-deepsets", "ppo", "deepsets", {**_LONG, "steps": 3_000_000}, ""),
            ("hybrid-ppo-deepsets", "ppo", "deepsets", {**_LONG, "steps": 3_000_000}, "low-power"),
        )
    },
    "hybrid-watts-diurnal": _row(
        IDLE_OFF_WATTS,
        "diurnal",
        Case("diurnal", {"nodes": 8}),
        config={"nodes": 8, "pods": 400, "days": 0.5},
        prior="low-power",
        learner_config=_LONG,
        traces=48,
    ),
    "dial-ee-lb": _row(
        "ee=1,lb=1",
        "test1",
        Case("test1", dials=[(1.0 - share, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]),
        dial=True,
        learner_config={"steps": 1_000_000},
    ),
    **{
        name: _row(
            IDLE_OFF_WATTS,
            "diurnal",
            Case("diurnal", _CALM),
            config=_CALM,
            limit=limit,
            learner_config=_LONG,
            # A limit is broken in few traces, and by much there: it takes many to meet such ones.
            traces=256,
            selection_traces=128,
            report_seeds=48,
        )
        for name, limit in (("limit-p99", "p99_latency_ms<=25"), ("limit-none", ""))
    },
}

_NETWORKS = ("linear", "mlp", "deepsets", "gnn")
_MATRIX_TASKS = {
    "ee": ("ee", "test1", {}, "most-allocated", 12),
    "el-rl": ("el-rl", "test1", {}, "energy-latency", 12),
    # Its traces differ much in size: a mean over few of them says little about any policy.
    "watts": (IDLE_OFF_WATTS, "fill", {"nodes": 4}, "low-power", 64),
}

# The matrix shows what each pairing reaches with little; the claims above have more.
_LITTLE: dict[str, dict[str, Any]] = {
    "qtable": {"steps": 500_000, "resource": "cpu", "may_defer": False},
    "dqn": {"steps": 100_000},
    "actor_critic": {"steps": 150_000},
    "ppo": {"steps": 150_000},
    "evolution": {"generations": 60},
    "imitation": {"steps": 150_000},
}

MATRIX: dict[str, Row] = {
    f"matrix-{task}-{learner}-{network}": _row(
        objective,
        workload,
        config=config,
        learner=learner,
        network=network,
        learner_config=_LITTLE[learner],
        guide=guide if learner == "imitation" else "",
        report_seeds=report_seeds,
    )
    for task, (objective, workload, config, guide, report_seeds) in _MATRIX_TASKS.items()
    for learner in _LITTLE
    for network in (("table",) if learner == "qtable" else _NETWORKS)
}
