"""The Gymnasium face of the simulator: `longshore/Placement-v0`, one environment or many at once.

    import gymnasium
    import longshore.simulator.gym  # registers the environment

    env = gymnasium.make("longshore/Placement-v0", workload="test1", objective="el-rl")
    envs = gymnasium.make_vec("longshore/Placement-v0", num_envs=8)

One step is one decision. An observation has a row per node with the columns of docs/reference/observation.md; an action
is a row's number, or the number of rows to defer. `action_masks()` and `info["action_mask"]` say which are allowed.
Gymnasium 1.0 dropped the entry points by which packages were found, so this module must be imported; or name it:
`gymnasium.make("longshore.simulator.gym:longshore/Placement-v0")`.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jax._src.xla_bridge import backends_are_initialized

from longshore.core.arrays.features import chosen, default_names
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.filters import filter_set
from longshore.objectives.base import Objective
from longshore.simulator.environment import ActionResult, Environment, Moment, Seen
from longshore.simulator.objective import checked_objective
from longshore.simulator.params import SimParams
from longshore.simulator.source import TraceSource
from longshore.workloads.build import build_workload

ID = "longshore/Placement-v0"
TRACES = 64
"""How many traces later resets draw from, unless told otherwise."""
_FIRST_DRAWN = 3_000_000
"""Their seeds count from it; training and selection have others."""

Rows = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


class _Programs(NamedTuple):
    """An environment's functions, compiled; all environments of one kind share them."""

    reset: Callable[[SimParams], tuple[Moment, Seen]]
    reset_many: Callable[[SimParams], tuple[Moment, Seen]]
    step: Callable[[SimParams, Moment, Array], tuple[Moment, Seen, ActionResult]]
    step_many: Callable[[SimParams, Moment, Array, Array], tuple[Moment, Seen, ActionResult]]


@lru_cache(maxsize=32)
def programs(environment: Environment) -> _Programs:
    """Return the compiled functions of an environment."""
    reset, step = environment.reset, environment.step
    return _Programs(jax.jit(reset), jax.jit(jax.vmap(reset)), jax.jit(step), jax.jit(jax.vmap(step)))


class _Setup(NamedTuple):
    """What the two faces share: where traces come from, the program but for its node events, the spaces."""

    source: TraceSource
    environment: Environment
    observation_space: gymnasium.Space[Rows]
    action_space: gymnasium.spaces.Discrete

    def programs(self) -> _Programs:
        """Return the functions that play the traces met so far."""
        return programs(replace(self.environment, has_node_events=self.source.has_node_events))


def _info(seen: Seen, moment: Moment, result: ActionResult | None) -> dict[str, Any]:
    """Describe a decision, or several along the first axis; always the same keys."""
    mask = np.array(seen.action_mask)
    nobody = np.full(mask.shape[:-1], -1, np.int32)
    return {
        "action_mask": mask,
        "pod": np.array(moment.pod),
        "time_seconds": np.array(moment.state.time),
        "node": nobody if result is None else np.array(result.node),
        "was_infeasible": nobody >= 0 if result is None else np.array(result.was_infeasible),
    }


class PlacementEnv(gymnasium.Env[Rows, np.int64]):
    """Decide where each pod of a workload goes.

    Args:
        workload: a name of `longshore list workloads`.
        parameters: the workload's parameters by name.
        nodes: number of nodes, in short for the parameter of that name.
        objective: what is rewarded: a name, `name=weight,name=weight`, YAML, or an objective.
        filters: the set of constraints that the mask stands for: `upstream` or `upstream+latency`.
        features: the columns of an observation, by name; None = all, without those of GPUs in detail where no node
            has any.
        lag_seconds: how often readings are taken; 0 = always fresh.
        traces: how many traces later resets draw from; each is encoded once.
        render_mode: there is none; for Gymnasium's sake.

    `reset(seed=s)` plays the workload's trace of seed s; later resets draw one of `traces`, those of the seeds from
    3,000,000 on, by `np_random`. The `info` of a step tells where the pod of that step went (`node`, -1 = nowhere) and
    whether its action was not allowed (`was_infeasible`: counted as defer); `pod` and `time_seconds` are those of the
    next decision.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        workload: str = "test1",
        parameters: Mapping[str, object] | None = None,
        nodes: int | None = None,
        objective: str | Objective = "el-rl",
        filters: str = "upstream+latency",
        features: Sequence[str] | None = None,
        lag_seconds: float = 0.0,
        traces: int = TRACES,
        render_mode: str | None = None,
    ) -> None:
        if not 0 <= lag_seconds < np.inf:
            raise InputError(f"got lag_seconds `{lag_seconds}`, expected 0 or more", "0 = readings are always fresh")
        if traces < 1:
            raise InputError(f"got traces `{traces}`, expected 1 or more", "later resets draw from so many traces")
        self.render_mode = render_mode
        given = dict(parameters or {}) | ({} if nodes is None else {"nodes": nodes})
        kept = range(_FIRST_DRAWN, _FIRST_DRAWN + traces)
        source = TraceSource(build_workload(workload, given), lag_seconds, kept)
        term = checked_objective(objective) if isinstance(objective, str) else objective
        wanted = default_names(source.has_gpus) if features is None else features
        names = tuple(feature.name for feature in chosen(wanted))
        shape = (source.num_nodes, len(names))
        self.setup = _Setup(
            source=source,
            environment=Environment(term, filter_set(filters), names),
            observation_space=cast("gymnasium.Space[Rows]", gymnasium.spaces.Box(-1.0, 1.0, shape, np.float32)),
            action_space=gymnasium.spaces.Discrete(source.num_nodes + 1),
        )
        self.observation_space, self.action_space = self.setup.observation_space, self.setup.action_space
        self._mask: Mask = np.ones(int(self.action_space.n), bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Rows, dict[str, Any]]:
        """Start the trace of a seed; `options` are not used."""
        super().reset(seed=seed)
        _check_process()
        source = self.setup.source
        self._params = jax.device_put(source.params(_draw(source, self.np_random) if seed is None else seed))
        self._moment, seen = self.setup.programs().reset(self._params)
        return self._told(seen, None)

    def step(self, action: np.int64) -> tuple[Rows, float, bool, bool, dict[str, Any]]:
        """Place the pod on a node, or defer it; play up to the next decision."""
        if not self.setup.action_space.contains(action):
            raise InputError(f"got the action {action!r}, expected a whole number below {self.setup.action_space.n}")
        self._moment, seen, result = self.setup.programs().step(self._params, self._moment, np.int64(action))
        rows, info = self._told(seen, result)
        return rows, float(result.reward), bool(self._moment.is_over), False, info

    def action_masks(self) -> Mask:
        """Return which actions are allowed now [nodes + 1], as sb3-contrib asks for it."""
        return self._mask.copy()

    def _told(self, seen: Seen, result: ActionResult | None) -> tuple[Rows, dict[str, Any]]:
        info = _info(seen, self._moment, result)
        self._mask = info["action_mask"]
        scalars = {key: value.item() for key, value in info.items() if key != "action_mask"}
        return np.array(seen.rows), {"action_mask": self._mask.copy(), **scalars}


class PlacementVectorEnv(VectorEnv[Rows, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Many `PlacementEnv` that take their steps in one compiled call.

    Args:
        num_envs: how many.
        max_episode_steps: truncates an episode after so many decisions; None = never.
        **arguments: those of `PlacementEnv`.

    Seeds are dealt out as Gymnasium's own vector environments do: `reset(seed=s)` gives s, s + 1, ... An episode that
    has ended starts anew with the next step, whose action is ignored and whose reward is 0.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own declaration
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        self.num_envs, self.render_mode, self.max_episode_steps = num_envs, render_mode, max_episode_steps
        self.setup = PlacementEnv(**arguments).setup
        self.single_observation_space = self.setup.observation_space
        self.single_action_space = self.setup.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Rows, dict[str, Any]]:
        """Start a trace in every environment; `options` are not used."""
        source = self.setup.source
        if seed is None:
            given: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, Sequence | np.ndarray):
            given = [None if one is None else int(one) for one in seed]
        else:
            given = [int(seed) + i for i in range(self.num_envs)]
        if len(given) != self.num_envs:
            raise InputError(f"got {len(given)} seeds, expected {self.num_envs}", "give one seed per environment")
        for number, one in enumerate(given):
            if one is not None:
                self._generators[number] = seeding.np_random(one)[0]
        drawing = zip(given, self._generators, strict=True)
        seeds = [_draw(source, generator) if one is None else one for one, generator in drawing]
        self._ended = np.zeros(self.num_envs, bool)
        self._num_steps = np.zeros(self.num_envs, np.int64)
        found = source.params_of([*source.kept, *seeds])
        self._kept, self._params = _stacked(found[: len(source.kept)]), _stacked(found[len(source.kept) :])
        self._moment, seen = self.setup.programs().reset_many(self._params)
        return np.array(seen.rows), _stacked_info(_info(seen, self._moment, None))

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Rows, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Take a step in every environment; those that have ended start anew instead."""
        if not self.action_space.contains(np.asarray(actions)):
            raise InputError(f"got the actions {actions!r}, expected {self.num_envs} whole numbers, one a step")
        if self._ended.any():
            self._deal()
        step_many = self.setup.programs().step_many
        self._moment, seen, result = step_many(self._params, self._moment, np.asarray(actions, np.int64), self._ended)
        terminated = np.array(self._moment.is_over)
        self._num_steps = np.where(self._ended, 0, self._num_steps + 1)
        truncated = ~self._ended & (self._num_steps >= (self.max_episode_steps or np.inf))
        self._ended = terminated | truncated
        info = _stacked_info(_info(seen, self._moment, result))
        return np.array(seen.rows), np.array(result.reward), terminated, truncated, info

    def action_masks(self) -> Mask:
        """Return which actions are allowed now [environments, nodes + 1]."""
        is_feasible = np.asarray(self._moment.feasible)
        return np.concatenate([is_feasible, np.ones((self.num_envs, 1), bool)], axis=1)

    def _deal(self) -> None:
        """Give every environment that has ended another trace."""
        source, drawn = self.setup.source, np.zeros(self.num_envs, np.int32)
        for number in np.flatnonzero(self._ended):
            drawn[number] = _draw(source, self._generators[number]) - source.kept.start
        self._params = _dealt(self._params, self._kept, drawn, self._ended)


def _draw(source: TraceSource, generator: np.random.Generator) -> int:
    """Draw the seed of an episode for which none was given."""
    return source.kept[int(generator.integers(len(source.kept)))]


def _stacked(params: Sequence[SimParams]) -> SimParams:
    stacked: SimParams = jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *params), may_alias=False)
    return stacked


@jax.jit
def _dealt(params: SimParams, kept: SimParams, drawn: Array, is_new: Array) -> SimParams:
    """Put rows `drawn` [environments] of the traces that are kept in the place of those that are over."""

    def dealt(old: Array, rows: Array) -> Array:
        return jnp.where(is_new.reshape(-1, *[1] * (old.ndim - 1)), rows[drawn], old)

    new: SimParams = jax.tree.map(dealt, params, kept)
    return new


def _stacked_info(info: dict[str, Any]) -> dict[str, Any]:
    """Add what Gymnasium's vector environments have beside every key: whose value it is, here everybody's."""
    number = len(info["pod"])
    return info | {f"_{key}": np.ones(number, bool) for key in info}


_lost_threads = threading.Event()
"""This process was forked from one in which JAX ran: its threads are not here, and whoever waits for them hangs."""


def _note_fork() -> None:
    if backends_are_initialized():
        _lost_threads.set()


os.register_at_fork(after_in_child=_note_fork)


def _check_process() -> None:
    if _lost_threads.is_set():
        raise InputError(
            "this process was forked from one that had used JAX, and JAX would hang in it",
            'start workers afresh: `make_vec(..., vectorization_mode="async", vector_kwargs={"context": "spawn"})`; '
            '`vectorization_mode="vector_entry_point"` needs no workers and is faster',
        )


if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="longshore.simulator.gym:PlacementEnv",
        vector_entry_point="longshore.simulator.gym:PlacementVectorEnv",
    )
