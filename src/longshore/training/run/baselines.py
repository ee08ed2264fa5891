"""What plain policies earn on the selection traces: the lines that a learning curve is read against.

Small workloads are played by the simulator's plain twin, so that nothing has to be compiled for them; large ones by the
compiled simulator.
"""

from collections.abc import Sequence

import numpy as np

from longshore.filters import UPSTREAM
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from longshore.simulator.params import Compiled
from longshore.simulator.play import play
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.training.run.plan import SELECTION_SEED, Plan
from longshore.workloads.build import build_workload

BASELINES = ("kube-default", "random", "most-allocated", "least-allocated", "energy-latency", "low-power")
"""Each is the best of all for some objective. The heuristics that a plan names come on top."""
_MOST_TWIN_DECISIONS = 3_000


def baseline_returns(plan: Plan) -> dict[str, float]:
    """Return the mean return of each baseline over the selection traces.

    They run behind `upstream`, as in every comparison: what they would do in kube-scheduler's place.
    """
    names = dict.fromkeys([*BASELINES, *(name for name in (plan.prior, plan.guide) if name in REGISTRY)])
    heuristics: list[Policy] = [REGISTRY.find(name) for name in names]
    source = TraceSource(build_workload(plan.workload, plan.workload_config), plan.lag_seconds)
    compiled = [source.compiled(SELECTION_SEED + number) for number in range(plan.selection_traces)]
    objective = parse_objective(plan.objective)
    if sum(len(one.pod_names) for one in compiled) <= _MOST_TWIN_DECISIONS:
        returns = [_by_twin(compiled, heuristic, objective, plan.lag_seconds) for heuristic in heuristics]
    else:
        returns = _compiled(compiled, heuristics, objective)
    return dict(zip(names, returns, strict=True))


def _by_twin(compiled: Sequence[Compiled], heuristic: Policy, objective: Weighted, lag_seconds: float) -> float:
    twins = [Reference(one, heuristic, UPSTREAM, lag_seconds, objective) for one in compiled]
    return sum(step.reward for twin in twins for step in twin.play()) / len(compiled)


def _compiled(compiled: Sequence[Compiled], heuristics: Sequence[Policy], objective: Weighted) -> list[float]:
    measured = play(compiled, heuristics, objective, filters=UPSTREAM)
    found: list[float] = np.asarray(measured.reward).sum(axis=2).mean(axis=1).tolist()
    return found
