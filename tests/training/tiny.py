"""Trainings that are over in a moment: a few pods, a few decisions, every learner."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from longshore.training.run.plan import Plan, read_plan
from longshore.training.run.prepare import Prepared, prepare

STEPS: Mapping[str, Any] = {"envs": 2, "segment": 8, "steps": 40}
SMALL: dict[str, dict[str, Any]] = {
    "qtable": {**STEPS, "buckets": 3},
    "dqn": {**STEPS, "memory": 64, "batch": 4, "gradient_steps": 1, "learning_starts": 4},
    "actor_critic": dict(STEPS),
    "ppo": {**STEPS, "epochs": 1, "parts": 1},
    "evolution": {"generations": 5, "population": 4, "traces": 2},
    "imitation": {**STEPS, "epochs": 1, "parts": 1},
}
"""What makes each learner small; one that is not named here is trained as it is."""


def tiny_plan(learner: str = "actor_critic", **changes: Any) -> Plan:
    """Return a plan of five chunks or so."""
    values: dict[str, Any] = {
        "learner": learner,
        "network": "linear",
        "learner_config": SMALL.get(learner, {}),
        "workload": "memory-pods",
        "workload_config": {"pods": 6},
        "objective": "compress",
        "features": () if learner == "qtable" else ("node_memory_free", "is_feasible"),
        "guide": "best-fit" if learner == "imitation" else "",
        "traces": 2,
        "selection_traces": 2,
        "evaluations": 5,
    }
    return Plan(**(values | changes))


def prepare_once(plan: Plan) -> Prepared:
    """Prepare a plan, and compile it, once for all tests of the process."""
    return _prepared(msgspec.json.encode(plan.to_json()))


@cache
def _prepared(text: bytes) -> Prepared:
    return prepare(read_plan(msgspec.json.decode(text)))
