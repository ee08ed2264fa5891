"""Every registered objective: finite, bounded, the same with and without jit, under vmap, and blind to padding rows."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.words.node import NodePower, NodeReadings
from longshore.core.words.pod import GpuRequest
from longshore.objectives import REGISTRY
from longshore.objectives.base import Objective, Transition
from longshore.objectives.samples import sample_transitions
from longshore.objectives.weighted import Weighted, build_objective
from objectives.clusters import node, spec, transition

jax.config.update("jax_enable_x64", True)

MAX_REWARD = 1e9

PARAMETERS: dict[str, list[dict[str, object]]] = {
    "ee": [{"measure": measure, "strict": True} for measure in ("pods", "cpu", "memory", "disk")],
    "lb": [{"measure": measure, "strict": True} for measure in ("pods", "cpu", "memory", "disk")],
    "lc": [{"strict": True}],
    "el-rl": [{"strict": True}],
    "watts": [{"switch_off_idle": True}],
    "compress": [{"exponent": 3.0, "resource": "cpu"}],
    "balance": [{"exponent": 0.25, "resource": "cpu"}],
    "empty-nodes": [{"threshold": 0.95}],
    "fragmentation": [{"relative_to": "idle"}],
    "carbon": [
        {"switch_off_idle": True, "series": [[0, 100], [2, 50]], "step_seconds": 1.5},
        {"series": [[0, 1], [3, 2]], "series_kind": "relative", "period_seconds": 4},
    ],
}
"""Variants beside the defaults; a new objective without parameters needs no entry."""

SEEDS = st.integers(0, 99)
"""Few enough that the clusters are made once for all objectives."""

CASES = [(name, parameters) for name in REGISTRY.names() for parameters in ({}, *PARAMETERS.get(name, []))]


def case_id(value: object) -> str:
    return value if isinstance(value, str) else ",".join(f"{key}={item}" for key, item in value.items()) or "defaults"


every_objective = pytest.mark.parametrize(("name", "parameters"), CASES, ids=case_id)


@functools.cache
def random_transition(seed: int, padded_nodes: int | None = None) -> Transition:
    """Make a random cluster and a random placement; equal seeds make equal clusters whatever the padding."""
    random = np.random.default_rng(seed)
    num_nodes = int(random.integers(1, 6))
    names = [f"n{i}" for i in range(num_nodes)]
    maybe = [float(x) if random.random() < 0.7 else None for x in random.integers(0, 60, 2 * num_nodes)]
    nodes = [
        node(
            name,
            int(random.integers(1, 5)) * 1000,
            int(random.integers(0, 5)) * 1000,
            gpu_count=int(random.integers(0, 3)),
            gpu_model=str(random.choice(["T4", "A100"])),
            readings=NodeReadings(latency_ms=maybe[2 * i], connections=maybe[2 * i + 1]),
            power=NodePower(tuple(map(float, np.sort(random.integers(0, 400, int(random.integers(1, 5))))))),
            cost_per_hour=float(random.integers(0, 5)),
            carbon_grams_per_kwh=float(random.integers(0, 500)),
        )
        for i, name in enumerate(names)
    ]
    specs = [
        spec(0, 0, 0),
        spec(100, 200, 300, latency_soft_ms=20.0, latency_hard_ms=40.0),
        spec(700, 100, 0, gpu=GpuRequest(1, 400)),
        spec(50, 1, 1, gpu=GpuRequest(1, 1000, ("A100",))),
    ]
    on = {name: [specs[i] for i in random.integers(0, 4, int(random.integers(0, 4)))] for name in names}
    pod = specs[int(random.integers(0, 4))]
    return transition(nodes, on, str(random.choice(names)), pod, padded_nodes and num_nodes + padded_nodes)


def to_jax(step: Transition) -> Transition:
    return jax.tree.map(jnp.asarray, step)


def values(objective: Objective, step: Transition) -> tuple[object, object]:
    return objective.reward(step), objective.ends_episode(step)


STEPS = (*sample_transitions(), random_transition(0))


@every_objective
@settings(max_examples=25)
@given(seed=SEEDS)
def test_rewards_are_finite_and_bounded_scalars(name: str, parameters: dict[str, object], seed: int) -> None:
    objective = build_objective(name, parameters)
    reward, ends = (np.asarray(value) for value in values(objective, random_transition(seed)))
    assert (reward.shape, reward.dtype) == ((), np.float64)
    assert (ends.shape, ends.dtype) == ((), bool)
    assert np.isfinite(reward)
    assert abs(reward) < MAX_REWARD


@every_objective
@settings(max_examples=25)
@given(seed=SEEDS)
def test_padding_rows_change_nothing(name: str, parameters: dict[str, object], seed: int) -> None:
    objective = build_objective(name, parameters)
    plain, padded = random_transition(seed), random_transition(seed, padded_nodes=3)
    want, got = values(objective, plain), values(objective, padded)
    # Sums over more rows may be made in another order.
    assert np.isclose(got[0], want[0], rtol=1e-12, atol=1e-12)
    assert got[1] == want[1]


@every_objective
def test_jit_gives_what_numpy_gives(name: str, parameters: dict[str, object]) -> None:
    objective = build_objective(name, parameters)
    compiled = jax.jit(lambda step: values(objective, step))
    for step in STEPS:
        reward, ends = compiled(to_jax(step))
        want_reward, want_ends = values(objective, step)
        assert (reward.dtype, ends.dtype) == (jnp.float64, jnp.bool_)
        np.testing.assert_allclose(reward, want_reward, rtol=1e-12, atol=1e-12)
        assert bool(ends) == bool(want_ends)


@every_objective
def test_jax_without_jit_gives_what_numpy_gives(name: str, parameters: dict[str, object]) -> None:
    objective = build_objective(name, parameters)
    reward, ends = values(objective, to_jax(STEPS[1]))
    want_reward, want_ends = values(objective, STEPS[1])
    np.testing.assert_allclose(reward, want_reward, rtol=1e-12, atol=1e-12)
    assert bool(ends) == bool(want_ends)


@every_objective
def test_vmap_gives_one_value_for_each_placement(name: str, parameters: dict[str, object]) -> None:
    objective = build_objective(name, parameters)
    # Placements of one cluster on each of its nodes: what a batch of environments looks like.
    step = sample_transitions()[1]
    others = [step, step._replace(node=np.int64(2)), step._replace(after=step.before)]
    batch = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *others)
    rewards, ends = jax.vmap(lambda one: values(objective, one))(batch)
    want = [values(objective, one) for one in others]
    np.testing.assert_allclose(rewards, [reward for reward, _ in want], rtol=1e-12, atol=1e-12)
    assert list(map(bool, ends)) == [bool(end) for _, end in want]


@every_objective
def test_objectives_are_hashable_data(name: str, parameters: dict[str, object]) -> None:
    # A frozen dataclass may be a static argument of a compiled function.
    objective = build_objective(name, parameters)
    assert dataclasses.is_dataclass(objective)
    assert hash(objective) == hash(build_objective(name, parameters))


def test_all_objectives_together_work_under_jit() -> None:
    weighted = Weighted(tuple((0.5, build_objective(name, parameters)) for name, parameters in CASES))
    step = sample_transitions()[2]
    reward, ends = jax.jit(lambda one: values(weighted, one))(to_jax(step))
    np.testing.assert_allclose(reward, weighted.reward(step), rtol=1e-12)
    assert bool(ends) == bool(weighted.ends_episode(step))
