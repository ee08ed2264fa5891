"""From a plan to what is trained: traces, features, scales, the network and the compiled program."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from longshore import filters as filter_room
from longshore.agents.base import Learner, Population
from longshore.agents.networks.base import Network, Sizes
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.objectives.weighted import Weighted
from longshore.policies import REGISTRY as POLICIES
from longshore.policies.base import Policy
from longshore.simulator.objective import checked_objective
from longshore.simulator.play import stack
from longshore.simulator.source import TraceSource
from longshore.training.program.chunk import Data, Program
from longshore.training.program.experience import NO_GUIDE, Bank, Task
from longshore.training.program.limits import parse_limit
from longshore.training.program.rewards import make_scale
from longshore.training.run.guides import OPTIMUM, find_guide, is_recorded, pinned, recorded_placements
from longshore.training.run.plan import SELECTION_SEED, TRAINING_SEED, Plan
from longshore.training.run.probe import probe
from longshore.workloads.build import build_workload

_PROBED_TRACES = 4
# Decisions per event, roughly: every pod comes and goes.
_DECISIONS_PER_STEP = 0.5
_DIAL_STEPS = 5


@dataclass(frozen=True)
class Prepared:
    """Ready to train."""

    plan: Plan
    program: Program
    data: Data
    chunks: int
    """How many there are, about."""
    steps: int
    """Decisions after which it is done; 0 = after `chunks`."""


def prepare(plan: Plan) -> Prepared:
    """Make everything that training needs.

    Raises:
        InputError: something in the plan does not fit.
    """
    plan = pinned(plan)
    learner = _checked(plan.build_learner(), Learner | Population, "`Learner` or `Population` of `agents.base`")
    network = learner if learner.has_own_network else plan.build_network()
    _checked(network, Network, "`Network` of `agents.networks.base`")
    objective = checked_objective(plan.objective)
    filters = filter_room.filter_set(plan.filters)
    workload = build_workload(plan.workload, plan.workload_config)
    source = TraceSource(workload, plan.lag_seconds)
    training = range(TRAINING_SEED, TRAINING_SEED + plan.traces)
    selection = range(SELECTION_SEED, SELECTION_SEED + plan.selection_traces)
    params = source.params_of([*training, *selection])
    seen = probe([source.compiled(seed) for seed in training[:_PROBED_TRACES]], objective, filters)
    scale = make_scale(objective, seen.rewards)
    features = plan.features or learner.features or seen.features
    task = Task(
        objective=objective,
        features=tuple(features),
        filters=filters,
        has_node_events=source.has_node_events,
        prior=_heuristic(plan.prior),
        guide=find_guide(plan.guide),
        has_dial=plan.dial,
        limit=parse_limit(plan.limit),
        may_defer=learner.may_defer,
    )
    _check_dial(plan, objective)
    _check_fit(plan, learner, network)
    num_terms = len(objective.terms)
    sizes = Sizes(len(task.features), source.num_nodes, num_terms if plan.dial else 0, bool(plan.prior))
    if network.needs_gpus and not params[0].cluster.nodes.gpu_capacity.any():
        raise InputError(
            f"got a network that weighs the load of GPUs for `{plan.workload}`, whose nodes have no GPUs",
            "leave `--network-by-load` out, or train on a workload with GPUs",
        )
    num_pods = params[0].pod_class.shape[0]
    recorded = np.full((plan.traces, num_pods), NO_GUIDE, np.int32)
    if is_recorded(plan.guide):
        compiled = [source.compiled(seed) for seed in training]
        recorded = recorded_placements(plan.guide, compiled, objective, filters, num_pods)
    bank = Bank(stack(params[: plan.traces]), jnp.asarray(recorded))
    dials = _dials(num_terms) if plan.dial else np.asarray(scale.weights)[None]
    data = Data(bank, stack(params[plan.traces :]), scale, jnp.asarray(dials))
    total, steps = _length(learner)
    updates = max(round(total / plan.evaluations), 1)
    program = Program(task, learner, network.build(sizes), updates)
    return Prepared(plan, program, data, -(-total // updates), steps)


def _checked(unit: Any, kind: Any, told: str) -> Any:
    """Refuse a learner or a network of another package that lacks a part."""
    if not isinstance(unit, kind):
        raise InputError(f"got a {type(unit).__name__} that lacks a part, expected {told}", f"inherit from {told}")
    return unit


def _check_fit(plan: Plan, learner: Learner | Population, network: Network) -> None:
    """Refuse what a learner would pass over in silence, or could not learn with."""
    name = plan.learner
    learner.check()
    if plan.guide and not learner.takes_guide:
        raise InputError(
            f"got a guide for `{name}`, which follows none", "leave `--guide` out, or use imitation or dqn"
        )
    if learner.needs_guide and not plan.guide:
        raise InputError(
            f"`{name}` has nobody to imitate", "give `--guide`: a heuristic, `optimum` or a file of decisions"
        )
    if learner.has_own_network and (plan.prior or plan.dial):
        raise InputError(f"`{name}` is a table and takes neither a prior nor a dial", "use another learner")
    if plan.dial and not network.takes_dial:
        raise InputError(
            f"got a dial with the network `{plan.network}`, whose choice cannot depend on it",
            "use `--network deepsets`",
        )


def _check_dial(plan: Plan, objective: Weighted) -> None:
    if plan.dial and any(weight <= 0 for weight, _ in objective.terms):
        raise InputError(
            f"got the objective `{plan.objective}`, expected weights above 0 for a dial between the terms",
            "a dial draws weights from 0 to 1; write a term whose more is better",
        )
    if plan.dial and len(objective.terms) < 2:
        raise InputError(
            f"got the objective `{plan.objective}`, expected two terms or more for a dial between them",
            "write for instance `--objective ee=1,lb=1 --dial`",
        )
    if plan.dial and plan.guide == OPTIMUM:
        raise InputError(
            "got the guide `optimum` with a dial, expected one of them: the optimum is that of one setting",
            "let a heuristic guide, or train without `--dial`",
        )


def _length(learner: Learner | Population) -> tuple[int, int]:
    """Return the number of updates and the number of decisions; the latter is 0 for populations."""
    if isinstance(learner, Population):
        return learner.generations, 0
    per_update = learner.envs * learner.segment * _DECISIONS_PER_STEP
    return max(round(learner.steps / per_update), 1), learner.steps


def _heuristic(name: str) -> Policy | None:
    if not name:
        return None
    found: Policy = POLICIES.load(name)
    return found


def _dials(terms: int) -> Array:
    """Return settings of the dial to judge: every term alone, and even steps between the first two."""
    between = [np.eye(terms)[0] * (1 - share) + np.eye(terms)[1] * share for share in np.linspace(0, 1, _DIAL_STEPS)]
    return np.array([*between, *np.eye(terms)[2:], np.full(terms, 1 / terms)])
