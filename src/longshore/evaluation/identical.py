"""Traces whose pods are all alike: then a cluster's state is just how many pods each node has.

Such a trace becomes a list of moves (a pod comes, some pod leaves, all leave), and what a policy may do and what it
earns is worked out for many states at once. `optimum_dp.py` and `optimum_beam.py` search over it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore import filters as filter_room
from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.arrays.power import cluster_watts
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.evaluation.packing import has_pod_terms, static_mask
from longshore.evaluation.timeline import Departure, happenings, window
from longshore.objectives.base import Objective, Transition
from longshore.objectives.user import UserTerm
from longshore.objectives.weighted import Weighted
from longshore.simulator.params import Compiled
from longshore.simulator.transition import with_latency

# States per call of the compiled function: one size, one compilation.
_CHUNK = 512

HELD = ("active_nodes", "watts", "watts_idle_off")
"""Time-weighted metrics that follow from the state."""


class MoveKind(IntEnum):
    """What changes the state."""

    COME = 0
    """A pod is placed."""
    LEAVE = 1
    """One of the pods leaves."""
    CLEAR = 2
    """All pods leave."""


class Move(NamedTuple):
    """One change of the state."""

    kind: MoveKind
    pod: int
    """-1 = all."""
    latency_ms: Array  # [nodes], when it happens
    seconds: float
    """How long the state before the move has lasted."""


class Facts(NamedTuple):
    """What is known of states, each a row."""

    is_feasible: Array  # [states, nodes] bool
    reward: Array  # [states, nodes] float64; of placing the next pod on the node
    held: Array  # [states, 3] float64; the metrics of `HELD`


@dataclass(frozen=True, eq=False)
class Identical:
    """A trace of pods that are all alike."""

    cluster: ClusterArrays
    moves: tuple[Move, ...]
    last_seconds: float
    """How long the state after the last move lasts."""
    seconds: float
    """From the first event to the end."""
    objective: Objective | None
    filters: tuple[str, ...]
    alike: tuple[Array, ...]
    """Nodes that differ in nothing but their names, each group as columns of a state."""

    @property
    def num_nodes(self) -> int:
        """Length of a state."""
        return len(self.cluster.nodes.is_real)

    @property
    def has_single_leaving(self) -> bool:
        """Pods leave one by one, so that it matters where each is."""
        return any(move.kind == MoveKind.LEAVE for move in self.moves)

    def canonical(self, states: Array) -> tuple[Array, Array]:
        """Sort pods within groups of nodes that are alike, since states that differ only in that are as good.

        Returns:
            The sorted states [states, nodes], and for each node the column that it has become [states, nodes].
        """
        ordered, column = states.copy(), np.tile(np.arange(states.shape[1]), (len(states), 1))
        for group in self.alike:
            order = np.argsort(-states[:, group], axis=1, kind="stable")
            ordered[:, group] = np.take_along_axis(states[:, group], order, axis=1)
            moved = np.empty_like(order)
            np.put_along_axis(moved, order, np.broadcast_to(group, order.shape), axis=1)
            column[:, group] = moved
        return ordered, column

    def facts(self, states: Array, latency_ms: Array) -> Facts:
        """Work out what is known of `states` [states, nodes]."""
        parts = []
        for first in range(0, len(states), _CHUNK):
            rows = np.zeros((_CHUNK, self.num_nodes), np.int64)
            part = states[first : first + _CHUNK]
            rows[: len(part)] = part
            found = _facts(self.cluster, rows, latency_ms, objective=self.objective, filters=self.filters)
            parts.append([np.asarray(leaf)[: len(part)] for leaf in found])
        return Facts(*(np.concatenate(leaves) for leaves in zip(*parts, strict=True)))


def make_identical(
    compiled: Compiled, objective: Objective | None, filters: tuple[str, ...] = filter_room.UPSTREAM
) -> Identical:
    """Read a trace as moves.

    Raises:
        InputError: the pods are not alike, nodes come or go, or the objective reads more than the state.
    """
    _check_objective(objective)
    _check_nodes(compiled.trace)
    _check_classes(compiled, filters)
    params = compiled.params
    cluster = params.cluster
    present = params.is_present & cluster.nodes.is_real
    measured = window(compiled.trace)
    moves = tuple(_merged(compiled))
    return Identical(
        cluster=cluster._replace(nodes=cluster.nodes._replace(is_real=present)),
        moves=moves,
        last_seconds=measured.end - measured.start - sum(move.seconds for move in moves),
        seconds=measured.end - measured.start,
        objective=objective,
        filters=filters,
        alike=_alike(compiled, filters),
    )


def _alike(compiled: Compiled, filters: tuple[str, ...]) -> tuple[Array, ...]:
    cluster = compiled.params.cluster
    # What only tells nodes apart, and what no objective reads of pods without constraints about each other.
    nodes = cluster.nodes._replace(name_rank=None, domain=None, zone=None)
    readings = cluster.readings._replace(zone_near=None)
    per_node = [leaf for leaf in (*nodes, *readings) if leaf is not None]
    per_node += [compiled.params.is_present, compiled.params.latency_ms.T, static_mask(cluster, filters).T]
    groups: dict[bytes, list[int]] = {}
    for node in range(len(cluster.nodes.is_real)):
        groups.setdefault(b"".join(np.ascontiguousarray(leaf[node]).tobytes() for leaf in per_node), []).append(node)
    return tuple(np.array(group) for group in groups.values() if len(group) > 1)


@partial(jax.jit, static_argnames=("objective", "filters"))
def _facts(
    cluster: ClusterArrays, states: Array, latency_ms: Array, *, objective: Objective | None, filters: tuple[str, ...]
) -> Facts:
    """`states` [states, nodes]; class 0 stands for all classes, which are alike."""
    seen = with_latency(cluster, latency_ms)
    pod_class = jnp.zeros((), jnp.int32)
    no_devices = jnp.zeros(cluster.state.gpu_used.shape[1], jnp.int64)

    def reward(before: ClusterArrays, node: Array) -> Array:
        if objective is None:
            return jnp.zeros(())
        after = place(before, pod_class, node, no_devices)
        return objective.reward(Transition(before, after, pod_class, node)).astype(jnp.float64)

    def of_state(pods: Array) -> Facts:
        before = seen._replace(state=_filled(cluster, pods))
        active = is_on(before).sum()
        held = [active.astype(jnp.float64), cluster_watts(before, False), cluster_watts(before, True)]
        return Facts(
            is_feasible=filter_room.feasible(before, pod_class, filters),
            reward=jax.vmap(partial(reward, before))(jnp.arange(pods.shape[0])),
            held=jnp.stack(held),
        )

    facts: Facts = jax.vmap(of_state)(states)
    return facts


def _filled(cluster: ClusterArrays, pods: Array) -> Array:
    """Return the cluster's state with so many pods on each node."""
    classes = cluster.classes
    return cluster.state._replace(
        requested=pods[:, None] * classes.request[0],
        nonzero_requested=pods[:, None] * classes.nonzero_request[0],
        pod_count=pods,
        keeping=pods * classes.keeps_on[0],
        counts=pods[None, :] * cluster.tables.match[:, :1],
    )


def _merged(compiled: Compiled) -> Iterator[Move]:
    """Yield the moves until the end of the window; deletions of one moment that empty the cluster become one."""
    measured = window(compiled.trace)
    pending: list[tuple[float, int, Array]] = []
    alive: set[int] = set()
    last = measured.start
    for time, kind, pod, latency_ms in _changes(compiled):
        if time > measured.end:
            break
        if pending and (kind == MoveKind.COME or time > pending[0][0]):
            yield from _leaving(pending, alive, last)
            last, pending = pending[0][0], []
        if kind == MoveKind.COME:
            alive.add(pod)
            yield Move(kind, pod, latency_ms, time - last)
            last = time
        elif pod in alive and all(pod != other for _, other, _ in pending):
            pending.append((time, pod, latency_ms))
    if pending:
        yield from _leaving(pending, alive, last)


def _leaving(pending: list[tuple[float, int, Array]], alive: set[int], last: float) -> Iterator[Move]:
    time, _, latency_ms = pending[0]
    if len(pending) == len(alive):
        alive.clear()
        yield Move(MoveKind.CLEAR, -1, latency_ms, time - last)
        return
    for number, (_, pod, latency_ms) in enumerate(pending):
        alive.remove(pod)
        yield Move(MoveKind.LEAVE, pod, latency_ms, time - last if number == 0 else 0.0)


def _changes(compiled: Compiled) -> Iterator[tuple[float, MoveKind, int, Array]]:
    index = {name: number for number, name in enumerate(compiled.pod_names)}
    row = 0
    for event in happenings(compiled.trace):
        match event:
            case LatencyChange():
                row += 1
            case Create(time=time, pod=pod):
                yield time, MoveKind.COME, index[pod.key], compiled.params.latency_ms[row]
            case Delete(time=time, pod=key) | Departure(time=time, pod=key):
                yield time, MoveKind.LEAVE, index[key], compiled.params.latency_ms[row]


def _check_objective(objective: Objective | None) -> None:
    terms = [term for _, term in objective.terms] if isinstance(objective, Weighted) else [objective]
    if any(isinstance(term, UserTerm) for term in terms):
        raise InputError("the objective has a term of the user's own, which may read more than pods per node")


def _check_nodes(trace: Trace) -> None:
    if any(isinstance(event, NodeFail | NodeDrain | NodeJoin) for event in trace.events):
        raise InputError("nodes fail, are drained or join; expected the same nodes all the time")


def _check_classes(compiled: Compiled, filters: tuple[str, ...]) -> None:
    cluster = compiled.params.cluster
    classes = cluster.classes
    if not compiled.pod_names:
        raise InputError("the trace has no pods")
    if has_pod_terms(classes):
        raise InputError("pods have constraints about other pods; expected none")
    if classes.gpu_milli.any():
        raise InputError("pods ask for GPUs; expected none")
    for name, rows in (
        ("requests", np.column_stack([classes.request, classes.nonzero_request])),
        ("allowed nodes", static_mask(cluster, filters)),
        ("latency limits", np.column_stack([classes.latency_soft_ms, classes.latency_hard_ms])),
    ):
        kinds = len(np.unique(rows, axis=0))
        if kinds > 1:
            raise InputError(f"pods have {kinds} different {name}; expected pods that are all alike")
