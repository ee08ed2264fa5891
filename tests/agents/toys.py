"""Small problems whose answers are known, and small real clusters, for the tests of networks and learners."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore import filters
from longshore.agents import scoring
from longshore.agents.base import Seen, Segment
from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Inputs
from longshore.core.words.snapshot import Service, Snapshot
from longshore.policies.inputs import policy_inputs
from support import jax_arrays  # noqa: F401  (64-bit numbers)
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode

FEATURES = ("node_cpu_free", "pod_cpu", "node_cpu_used", "after_cpu_used", "node_is_on", "latency", "is_feasible")
ZONE = "topology.kubernetes.io/zone"


def make_cluster(seed: int, nodes: int, *, load: int = 2, pod_cpu: int = 500) -> Snapshot:
    """Make a cluster of unlike nodes in three zones, with pods of a service on some; the last pod waits.

    `load` is how many pods run on the first node; all other numbers depend on the seed alone.
    """
    draw = np.random.default_rng(seed)
    built = [
        make_node(f"node-{number:03d}")
        .cpu(int(draw.choice([4000, 8000, 16000])))
        .label(ZONE, f"zone-{number % 3}")
        .readings(
            latency_ms=float(draw.integers(5, 50)),
            zone_latency_ms=tuple((f"zone-{zone}", float(draw.integers(1, 20))) for zone in range(3)),
        )
        for number in range(nodes)
    ]
    counts = [load, *draw.integers(0, 4, nodes - 1)]
    pods = [
        make_pod(f"web-{node}-{number}").cpu(250).label("app", "web").on(f"node-{node:03d}")
        for node, count in enumerate(counts)
        for number in range(count)
    ]
    waiting = make_pod("waiting").cpu(pod_cpu).label("app", "web")
    return make_snapshot(*built, *pods, waiting, services=(Service("default", "web", (("app", "web"),)),))


def inputs_of(encoded: Encoded, preference: Any = ()) -> Inputs:
    """Return what a network is told about the pod that waits."""
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(encoded.snapshot.pods[-1]))
    feasible = filters.feasible(arrays, pod_class)
    return policy_inputs(arrays, pod_class, feasible, FEATURES, None, np.asarray(preference, np.float32))


@cache
def make_inputs(seed: int, nodes: int, padding: int = 0) -> Inputs:
    """Return the inputs of a random cluster."""
    return inputs_of(encode(make_cluster(seed, nodes), padded_nodes=nodes + padding))


def permuted(inputs: Inputs, order: Array) -> Inputs:
    """Give the nodes another order."""
    of_nodes = [name for name in inputs._fields if name not in ("preference", "pod_kind", "load")]
    return inputs._replace(**{name: np.asarray(getattr(inputs, name))[order] for name in of_nodes})


def drawn(blueprint: Blueprint, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Draw tensors as if trained: also those that begin at 0 or near it."""
    draw = np.random.default_rng(seed)
    return {name: draw.normal(0, 0.5, shape.shape).astype(np.float32) for name, shape in blueprint.shapes}


def plain_inputs(rows: Array) -> Inputs:
    """Return inputs [..., nodes, features] of nodes that are all real and of no zone."""
    like = make_inputs(0, rows.shape[-2])
    blank = {
        name: jnp.zeros((*rows.shape[:-2], *np.shape(getattr(like, name))), np.asarray(getattr(like, name)).dtype)
        for name in like._fields
    }
    return Inputs(**(blank | {"rows": rows, "is_real": jnp.ones(rows.shape[:-1], bool)}))


def make_seen(rows: Array, feasible: Array | None = None, guide: Array | None = None) -> Seen:
    """Return what is seen in decisions [..., nodes, features]; all nodes may be chosen unless told otherwise."""
    rows = jnp.asarray(rows, jnp.float32)
    feasible = jnp.ones(rows.shape[:-1], bool) if feasible is None else jnp.asarray(feasible)
    guide = jnp.full(rows.shape[:-2], -1, jnp.int32) if guide is None else jnp.asarray(guide, jnp.int32)
    return Seen(plain_inputs(rows), feasible, feasible.any(axis=-1), guide)


def make_segment(seen: Seen, action: Any, reward: Any, is_over: Any, extra: Any = None) -> Segment:
    """Return experience [steps, envs] with the types that it has in training."""
    return Segment(
        seen,
        jnp.asarray(action, jnp.int32),
        jnp.asarray(reward, jnp.float32),
        jnp.asarray(is_over, bool),
        {name: jnp.asarray(leaf, jnp.float32) for name, leaf in (extra or {}).items()},
    )


def random_seen(seed: int, envs: int = 6, nodes: int = 4, features: int = 2) -> Seen:
    """Draw decisions with random masks, none feasible in the first; some have a guide, which is feasible."""
    draw = np.random.default_rng(seed)
    feasible = draw.random((envs, nodes)) < 0.5
    feasible[0] = False
    best = np.where(feasible, draw.random((envs, nodes)), -1).argmax(axis=1)
    guide = np.where(feasible.any(axis=1) & (draw.random(envs) < 0.5), best, -1)
    return make_seen(draw.random((envs, nodes, features)), feasible, guide)


class Trained(NamedTuple):
    """What came of a toy training."""

    state: Any
    tensors: dict[str, Array]
    figures: dict[str, np.ndarray[Any, Any]]
    """Of every update."""


def first_feature(rows: Array) -> Array:
    """Let a node earn what its first feature says."""
    return rows[..., 0]


def train_bandit(
    learner: Any,
    blueprint: Blueprint,
    *,
    updates: int,
    worth: Callable[[Array], Array] = first_feature,
    guide: Callable[[Array], Array] | None = None,
    nodes: int = 3,
    features: int = 2,
    seed: int = 0,
) -> Trained:
    """Train on decisions that each are an episode of their own: rows are drawn, and a node earns what `worth` says."""
    shape = (learner.segment, learner.envs, nodes, features)

    def seen_of(key: Array) -> Seen:
        rows = jax.random.uniform(key, shape, jnp.float32)
        return make_seen(rows, None, None if guide is None else guide(rows).argmax(axis=-1))

    def update(state: Any, key: Array) -> tuple[Any, Any]:
        rows_key, act_key, learn_key = jax.random.split(key, 3)
        seen = seen_of(rows_key)
        keys = jax.random.split(act_key, learner.segment)
        action, extra = jax.vmap(lambda key, seen: learner.act(blueprint, state, key, seen))(keys, seen)
        reward = scoring.at(worth(seen.inputs.rows), action)
        segment = make_segment(seen, action, reward, jnp.ones(action.shape), extra)
        return learner.update(blueprint, state, learn_key, segment)

    @jax.jit
    def train(key: Array) -> tuple[Any, Any]:
        begin, go_on = jax.random.split(key)
        example = jax.tree.map(lambda leaf: leaf[0], seen_of(begin))
        state = learner.init(blueprint, begin, example)
        return jax.lax.scan(update, state, jax.random.split(go_on, updates))

    state, figures = train(jax.random.PRNGKey(seed))
    return Trained(state, learner.tensors(state), jax.tree.map(np.asarray, dict(figures)))


def share_right(
    blueprint: Blueprint, tensors: dict[str, Array], worth: Callable[[Array], Array] = first_feature, features: int = 2
) -> float:
    """Return how often the best score is on the node that earns most, over fresh decisions of three nodes."""
    rows = np.random.default_rng(99).random((200, 3, features)).astype(np.float32)
    scores, _ = scoring.evaluate(blueprint, tensors, plain_inputs(jnp.asarray(rows)))
    return float((np.asarray(scores).argmax(axis=-1) == np.asarray(worth(rows)).argmax(axis=-1)).mean())
