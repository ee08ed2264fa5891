"""The Gymnasium face of a live cluster: `longshore/Live-v0`. A step binds a real pod.

    import gymnasium
    import longshore.live.gym  # registers the environment

    env = gymnasium.make("longshore/Live-v0", workload="test1", make_nodes=True)
    env.close()  # takes away what it made

Observations, actions and masks are those of `longshore/Placement-v0`. With a workload the environment creates the pods
itself, in a namespace of its own, and carries the trace out step by step (`live_episode`). Without one it places the
pods of others that name its scheduler, and only if it was told that it may.
"""

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import gymnasium
import numpy as np
import numpy.typing as npt

from longshore import filters as filter_room
from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.features import chosen, default_names, features
from longshore.core.arrays.place import place
from longshore.core.words.errors import InputError, LongshoreError
from longshore.core.words.pod import Pod
from longshore.core.words.trace import Trace
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.episode import LiveEpisode, Turn
from longshore.live.session import LiveSession
from longshore.live.workload.ground import Wishes, clear, settle
from longshore.live.workload.objects import Ground
from longshore.live.workload.plan import WorkloadPlan, make_plan
from longshore.objectives.base import Objective, Transition
from longshore.objectives.weighted import parse_objective
from longshore.workloads.build import build_workload

ID = "longshore/Live-v0"
SCHEDULER_NAME = "longshore-live"
"""Not that of `longshore schedule`: both would place the same pods."""

Rows = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Result = TypeVar("Result")


class LiveEnv(gymnasium.Env[Rows, np.int64]):
    """Decide where each pod goes in a live cluster.

    Args:
        kubeconfig: by default $KUBECONFIG or ~/.kube/config.
        context: of the kubeconfig.
        workload: whose pods the environment creates; None = it creates none and places those of others.
        parameters: the workload's parameters by name.
        nodes: number of the workload's nodes, in short for the parameter of that name.
        make_nodes: make the workload's nodes, too (KWOK, only in a cluster of `longshore cluster`).
        objective: what is rewarded.
        filters: the set of constraints that the mask stands for.
        features: the columns of an observation; None = as of `longshore/Placement-v0`.
        scheduler_name: pods with this `schedulerName` are placed.
        allow_others: also place pods that the environment did not create.
        confirm: is asked, once for each such pod, instead.
        wait_seconds: without a workload, the episode is over when no pod came for so long.
        render_mode: there is none; for Gymnasium's sake.

    `reset(seed=s)` deletes the last episode's pods and begins the workload's trace of seed s; later resets draw the
    seed from `np_random`. `info` is that of `longshore/Placement-v0`, and `pod_name`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        workload: str | None = "test1",
        parameters: Mapping[str, object] | None = None,
        nodes: int | None = None,
        make_nodes: bool = False,
        objective: str | Objective = "el-rl",
        filters: str = "upstream+latency",
        features: Sequence[str] | None = None,
        scheduler_name: str = SCHEDULER_NAME,
        allow_others: bool = False,
        confirm: Callable[[Pod], bool] | None = None,
        wait_seconds: float = 60.0,
        render_mode: str | None = None,
    ) -> None:
        if workload is None and not allow_others and confirm is None:
            raise InputError(
                "without a workload only pods that the environment did not create could be placed",
                "give a `workload`, or allow it: `allow_others=True`, or `confirm`, which is asked for every pod",
            )
        self.render_mode = render_mode
        given = dict(parameters or {}) | ({} if nodes is None else {"nodes": nodes})
        self._workload = None if workload is None else build_workload(workload, given)
        self._objective = parse_objective(objective) if isinstance(objective, str) else objective
        self._filters = filter_room.filter_set(filters)
        self._permit = confirm if confirm is not None else (lambda _pod: allow_others)
        self._wait_seconds = wait_seconds
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="longshore-live", daemon=True)
        self._thread.start()
        self._is_closed = False
        self._session: LiveSession | None = None
        self._turn: Turn | None = None
        atexit.register(self.close)
        try:
            identity = load_identity(None if kubeconfig is None else Path(kubeconfig), context)
            wishes = Wishes(workload or "others", 0, scheduler_name, makes_nodes=make_nodes)
            self._call(self._open(Client(identity), wishes))
        except BaseException:
            self.close()
            raise
        self._set_spaces(features)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Rows, dict[str, Any]]:
        """Begin the trace of a seed; `options` are not used."""
        super().reset(seed=seed)
        trace = None
        if self._workload is not None:
            trace = self._workload.trace(int(self.np_random.integers(2**31)) if seed is None else seed)
        return self._call(self._begin(trace))

    def step(self, action: np.int64) -> tuple[Rows, float, bool, bool, dict[str, Any]]:
        """Bind the pod to a node, or defer it; go on to the next decision."""
        if not self.action_space.contains(action):
            raise InputError(f"got the action {action!r}, expected a whole number up to {self._num_nodes}")
        return self._call(self._step(int(action)))

    def action_masks(self) -> Mask:
        """Return which actions are allowed now [nodes + 1], as sb3-contrib asks for it."""
        return self._mask.copy()

    def close(self) -> None:
        """Take away what was made, and end the watch; a second time it does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        try:
            if self._session is not None:
                self._call(self._leave(self._session))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something in the thread in which the cluster is watched."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, client: Client, wishes: Wishes) -> None:
        await client.__aenter__()
        self._trace = Trace((), ()) if self._workload is None else self._workload.trace(0)
        try:
            if self._workload is None:
                self._ground = Ground("", wishes.scheduler_name)
            else:
                plan = self._plan(self._trace)
                self._ground = await settle(client, self._trace, plan, wishes)
            nodes = frozenset(self._ground.nodes.values()) or None
            self._session = LiveSession(client, wishes.scheduler_name, nodes)
            await self._session.start()
        except BaseException:
            if self._session is None:
                await client.close()
            raise

    def _plan(self, trace: Trace) -> WorkloadPlan:
        return make_plan(trace, has_own_nodes=False, shows_latency=True, has_deployments=False)

    async def _leave(self, session: LiveSession) -> None:
        try:
            if self._ground.namespace:
                await clear(session.client, self._ground, self._trace)
        finally:
            await session.stop()
            await session.client.close()

    def _set_spaces(self, names: Sequence[str] | None) -> None:
        arrays = self._call(self._arrays(None))
        wanted = default_names(bool(arrays.nodes.gpu_capacity.any())) if names is None else names
        self._names = tuple(feature.name for feature in chosen(wanted))
        self._num_nodes = len(arrays.nodes.is_real)
        shape = (self._num_nodes, len(self._names))
        self.observation_space = cast("gymnasium.Space[Rows]", gymnasium.spaces.Box(-1.0, 1.0, shape, np.float32))
        self.action_space = cast("gymnasium.Space[np.int64]", gymnasium.spaces.Discrete(self._num_nodes + 1))
        self._mask: Mask = np.ones(self._num_nodes + 1, bool)

    async def _arrays(self, turn: Turn | None) -> ClusterArrays:
        """Return the cluster as it is, with the class of the pod to place as `next_class` has that behind it."""
        assert self._session is not None
        waiting = [] if turn is None else [turn.pod] + ([] if turn.following is None else [turn.following])
        encoded = self._session.live.encoded(waiting)
        following = -1 if turn is None or turn.following is None else encoded.class_of(turn.following)
        self._class = np.asarray(0 if turn is None else encoded.class_of(turn.pod))
        self._node_names = encoded.node_names
        state = encoded.arrays.state._replace(next_class=np.asarray(following, np.int32))
        return encoded.arrays._replace(state=state)

    async def _begin(self, trace: Trace | None) -> tuple[Rows, dict[str, Any]]:
        assert self._session is not None
        episode = LiveEpisode(self._session, trace, self._ground, self._permit, self._wait_seconds)
        self._episode: LiveEpisode = episode
        self._turns = episode.turns()
        self._turn = await anext(self._turns, None)
        return await self._look(-1, was_infeasible=False)

    async def _step(self, action: int) -> tuple[Rows, float, bool, bool, dict[str, Any]]:
        turn, node, reward, ends = self._turn, -1, 0.0, False
        names_node = turn is not None and action < self._num_nodes
        if turn is not None:
            if names_node and self._mask[action]:
                node = action
                reward, ends = await self._place(turn, node)
            self._episode.settled(turn, is_placed=node >= 0)
            self._turn = None if ends else await anext(self._turns, None)
        rows, info = await self._look(node, was_infeasible=names_node and node < 0)
        return rows, reward, self._turn is None, False, info

    async def _place(self, turn: Turn, node: int) -> tuple[float, bool]:
        assert self._session is not None
        before = await self._arrays(turn)
        before = before._replace(state=before.state._replace(**{name: value.copy() for name, value in _large(before)}))
        devices = gpu.best_fit(before, self._class)[node]
        after = place(before, self._class, np.asarray(node), devices)
        change = Transition(before, after, self._class, np.asarray(node))
        held = tuple(np.flatnonzero(devices).tolist()) if turn.pod.spec.gpu is not None else None
        reward, ends = float(self._objective.reward(change)), bool(self._objective.ends_episode(change))
        await self._session.bind(turn.pod, self._node_names[node], held)
        return reward, ends

    async def _look(self, node: int, *, was_infeasible: bool) -> tuple[Rows, dict[str, Any]]:
        turn = self._turn
        rows = np.zeros((self._num_nodes, len(self._names)), np.float32)
        self._mask = np.append(np.zeros(self._num_nodes, bool), True)
        if turn is not None:
            arrays = await self._arrays(turn)
            if len(arrays.nodes.is_real) != self._num_nodes:
                now = len(arrays.nodes.is_real)
                raise LongshoreError(
                    f"the cluster has {now} nodes, and had {self._num_nodes} when the environment was made",
                    "close it and make another",
                )
            feasible = filter_room.feasible(arrays, self._class, self._filters)
            rows = np.array(features(arrays, self._class, feasible, self._names), np.float32)
            self._mask = np.append(feasible, True)
        info = {
            "action_mask": self._mask.copy(),
            "pod": 0 if turn is None else turn.number,
            "pod_name": "" if turn is None else turn.pod.key,
            "time_seconds": 0.0 if turn is None else turn.time,
            "node": node,
            "was_infeasible": was_infeasible,
        }
        return rows, info


def _large(arrays: ClusterArrays) -> list[tuple[str, Any]]:
    """Return the parts of the state that the cluster writes to in place."""
    return [(name, value) for name, value in arrays.state._asdict().items() if isinstance(value, np.ndarray)]


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="longshore.live.gym:LiveEnv")
