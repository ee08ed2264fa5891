"""Environments that a learner plays in: many at once, each on a trace of a bank, begun again when it is over.

One step is one event of the simulator, whatever it is: then all environments do the same work and none waits for
another. An environment keeps its trace for a whole segment; one that has come to its end plays the same trace again
and gets another at the next segment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from longshore.agents.base import Learner, LearnerState, Seen, Segment
from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array
from longshore.objectives.weighted import Weighted
from longshore.policies.base import Policy, Score, choose_node
from longshore.policies.inputs import policy_inputs
from longshore.simulator.params import SimParams
from longshore.simulator.rollout import cpu_variance
from longshore.simulator.state import SimState
from longshore.simulator.transition import Acted, Situation, act, initial, look
from longshore.training.program.limits import NO_LIMIT, Limit, NoLimit
from longshore.training.program.rewards import Scale, scaled, term_rewards

DEFER_REWARD = -1.0
"""What deferring a pod that could be placed earns, in deviations of the objective (the Q-table seed's rule)."""
NO_GUIDE = -1


def _nothing(_cluster: ClusterArrays, _pod_class: Array, _feasible: Array) -> Array:
    """Stand in for the scores of a policy whose scores are computed elsewhere."""
    raise AssertionError("this policy is never asked for scores")


@dataclass(frozen=True)
class Task:
    """What is to be learnt, as far as it shapes the compiled program."""

    objective: Weighted
    features: tuple[str, ...]
    filters: tuple[str, ...]
    has_node_events: bool
    prior: Policy | None = None
    """The policy that is corrected."""
    guide: Policy | None = None
    """The policy that is followed or cloned."""
    has_dial: bool = False
    """The terms' weights are part of what the policy is told."""
    limit: Limit | NoLimit = NO_LIMIT
    """What comes before the objective."""
    may_defer: bool = False
    """The policy may leave a pod waiting that could be placed."""

    def policy(self, score: Score = _nothing) -> Policy:
        """Return a policy with these scores; what they leave open is decided as the corrected policy decides it."""
        prior = Policy(_nothing) if self.prior is None else self.prior
        return Policy(score, devices=prior.devices, has_random_ties=prior.has_random_ties, may_defer=self.may_defer)


class Bank(NamedTuple):
    """Traces to train on."""

    params: SimParams  # [traces, ...]
    recorded: Array  # [traces, pods] int32; where a recording placed each pod, -1 = not recorded


class Env(NamedTuple):
    """One environment."""

    state: SimState
    trace: Array  # [] int32
    wants_trace: Array  # [] bool; it came to the end of its trace
    weights: Array  # [terms] float64; of the scaled terms
    earned: Array  # [] float64; of this episode so far, as the objective says it
    last_earned: Array  # [] float64; of the last episode that was finished


class Stepped(NamedTuple):
    """What is kept of a step beside the experience."""

    is_placed: Array  # bool
    cost: Array  # float64; by the limit
    cpu_variance: Array  # float64
    active_nodes: Array  # int32


class Gain(NamedTuple):
    """What a step was worth to the one who learns."""

    is_placed: Array  # [] bool
    terms: Array  # [terms] float64; not weighed
    cost: Array  # [] float64; by the limit
    is_over: Array  # [] bool


def gain(task: Task, acted: Acted) -> Gain:
    """Judge a step by the objective's terms and by the limit."""
    return Gain(
        acted.taken.node >= 0,
        acted.earned(partial(term_rewards, task.objective)),
        acted.earned(lambda change: task.limit.cost(acted.state.latency_ms[change.node])),
        acted.is_over(task.objective),
    )


def start(task: Task, bank: Bank, scale: Scale, key: Array, number: int) -> Env:
    """Return environments [number] at the start of random traces."""
    traces = jax.random.randint(key, (number,), 0, bank.recorded.shape[0], jnp.int32)
    params = _at(bank.params, traces)
    zero = jnp.zeros(number, jnp.float64)
    weights = jnp.broadcast_to(scale.weights, (number, scale.weights.shape[0]))
    return Env(jax.vmap(initial)(params), traces, jnp.zeros(number, bool), weights, zero, zero)


def renew(task: Task, bank: Bank, scale: Scale, key: Array, envs: Env, weights: Array) -> Env:
    """Give environments that came to their end another trace and, where there is a dial, another setting of it."""
    number = envs.trace.shape[0]
    trace_key, dial_key = jax.random.split(key)
    fresh = start(task, bank, scale, trace_key, number)
    fresh = fresh._replace(
        last_earned=envs.last_earned, weights=_draw_dial(dial_key, fresh.weights) if task.has_dial else fresh.weights
    )
    renewed: Env = jax.tree.map(lambda new, old: _choose(envs.wants_trace, new, old), fresh, envs)
    return renewed if task.has_dial else renewed._replace(weights=jnp.broadcast_to(weights, renewed.weights.shape))


def collect(
    task: Task,
    learner: Learner,
    blueprint: Blueprint,
    bank: Bank,
    scale: Scale,
    envs: Env,
    learner_state: LearnerState,
    multiplier: Array,
    key: Array,
) -> tuple[Env, Segment, Stepped]:
    """Play a segment; `multiplier` is what breaking the limit costs."""
    params, recorded = _at((bank.params, bank.recorded), envs.trace)
    observe = _observing(task)

    @jax.vmap
    def carry_out(params: SimParams, env: Env, situation: Situation, action: Array) -> Any:
        return _carry_out(task, (scale, multiplier), params, env, situation, action)

    def body(envs: Env, key: Array) -> tuple[Env, Any]:
        envs, situation, seen = observe(params, recorded, envs)
        action, extra = learner.act(blueprint, learner_state, key, seen)
        action = jnp.where(seen.is_decision, action, -1)
        envs, reward, is_over, stepped = carry_out(params, envs, situation, action)
        return envs, (seen, action, reward, is_over, extra, stepped)

    envs, found = jax.lax.scan(body, envs, jax.random.split(key, learner.segment))
    seen, action, reward, is_over, extra, stepped = found
    return envs, Segment(seen, action, reward, is_over, extra), stepped


def example(task: Task, bank: Bank, envs: Env) -> Seen:
    """Return what the environments see first: the shapes of all that follows."""
    params, recorded = _at((bank.params, bank.recorded), envs.trace)
    return _observing(task)(params, recorded, envs)[2]


Observe = Callable[[SimParams, Array, Env], tuple[Env, Situation, Seen]]


def _observing(task: Task) -> Observe:
    """Return the function that looks at all environments at once."""

    def observe(params: SimParams, recorded: Array, env: Env) -> tuple[Env, Situation, Seen]:
        return _observe(task, params, recorded, env)

    return jax.vmap(observe)


def _observe(task: Task, params: SimParams, recorded: Array, env: Env) -> tuple[Env, Situation, Seen]:
    state, situation = look(task.filters, params, env.state)
    cluster, feasible = situation.cluster, situation.feasible
    preference = env.weights.astype(jnp.float32) if task.has_dial else jnp.zeros(0, jnp.float32)
    inputs = policy_inputs(cluster, situation.pod_class, feasible, task.features, task.prior, preference)
    is_decision = situation.is_decision & feasible.any()
    guide = recorded[situation.event.pod]
    guide = jnp.where((guide >= 0) & feasible[jnp.maximum(guide, 0)], guide, NO_GUIDE)
    if task.guide is not None:
        guide = choose_node(task.guide, cluster, situation.pod_class, feasible, wants_devices=False).node
    seen = Seen(inputs, feasible & is_decision, is_decision, jnp.where(is_decision, guide, NO_GUIDE).astype(jnp.int32))
    return env._replace(state=state), situation, seen


def _carry_out(
    task: Task, price: tuple[Scale, Array], params: SimParams, env: Env, situation: Situation, action: Array
) -> tuple[Env, Array, Array, Stepped]:
    scale, multiplier = price
    devices = task.policy().devices(situation.cluster, situation.pod_class)[jnp.maximum(action, 0)]
    acted = act(params, env.state, situation, action, devices, has_node_events=task.has_node_events)
    state = acted.state
    is_placed, terms, cost, is_over = gain(task, acted)
    is_deferred = situation.is_decision & situation.feasible.any() & ~is_placed
    reward = scaled(scale, terms, env.weights) - multiplier * cost
    reward = jnp.where(is_placed, reward, jnp.where(is_deferred, DEFER_REWARD, 0.0))
    given = jnp.array([weight for weight, _ in task.objective.terms])
    earned = env.earned + (terms * given).sum()
    stepped = Stepped(
        is_placed,
        cost,
        cpu_variance(acted.change.after, state.is_up),
        is_on(acted.change.after).sum().astype(jnp.int32),
    )
    begun = initial(params)
    after = Env(
        state=jax.tree.map(lambda new, old: jnp.where(is_over, new, old), begun, state),
        trace=env.trace,
        wants_trace=env.wants_trace | is_over,
        weights=env.weights,
        earned=jnp.where(is_over, 0.0, earned),
        last_earned=jnp.where(is_over, earned, env.last_earned),
    )
    return after, reward.astype(jnp.float32), is_over, stepped


def _draw_dial(key: Array, like: Array) -> Array:
    """Draw weights that sum to 1, all mixtures alike; a third of the draws are one term alone, the ends of the dial."""
    mix_key, pure_key, which_key = jax.random.split(key, 3)
    envs, terms = like.shape
    mixed = jax.random.dirichlet(mix_key, jnp.ones(terms), (envs,))
    pure = jax.nn.one_hot(jax.random.randint(which_key, (envs,), 0, terms), terms)
    is_pure = jax.random.uniform(pure_key, (envs, 1)) < 1 / 3
    return jnp.where(is_pure, pure, mixed).astype(like.dtype)


def _at(tree: Any, index: Array) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _choose(condition: Array, new: Array, old: Array) -> Array:
    return jnp.where(condition.reshape(-1, *([1] * (new.ndim - 1))), new, old)
