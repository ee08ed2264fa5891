"""From a trained state to a bundle: the reloaded policy scores in NumPy as the trained one does in JAX."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.agents import LEARNERS, NETWORKS
from longshore.core.arrays.choose import choose
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.forward import SCORE, forward, needed
from longshore.core.words.errors import LongshoreError
from longshore.policies.base import Policy
from longshore.policies.bundle_folder import read_folder
from longshore.policies.inputs import policy_inputs
from longshore.policies.learned import learned
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.training.program.chunk import TrainState
from longshore.training.program.greedy import judge_all
from longshore.training.run.export import best_tensors, make_bundle, write_beside
from longshore.training.run.plan import TRAINING_SEED
from longshore.training.run.prepare import Prepared, prepare
from longshore.workloads.build import build_workload
from support.jax_arrays import to_jax
from training.tiny import SMALL, tiny_plan

Situation = tuple[Any, Any, Any]
LATENCY = {"workload": "test1", "workload_config": {"cycles": 1}, "objective": "ee=1,el-rl=1", "features": ()}


def some_state(prepared: Prepared, seeds: int = 1) -> TrainState:
    """Return a state with tensors as if trained; of several seeds, the last did best."""
    keys = jax.vmap(jax.random.PRNGKey)(np.arange(seeds))
    state = prepared.program.init(prepared.data, keys)
    draw = np.random.default_rng(0)
    best = {
        name: leaf + jnp.asarray(draw.normal(0, 0.2, leaf.shape), leaf.dtype) if leaf.dtype == jnp.float32 else leaf
        for name, leaf in state.best.items()
    }
    worth = jnp.arange(seeds, dtype=jnp.float64)
    return state._replace(best=best, best_worth=worth, best_return=10 * worth)


def some_bundle(prepared: Prepared, state: TrainState) -> Bundle:
    number = len(prepared.program.task.features)
    envelope = Envelope((0.0,) * number, (1.0,) * number)
    return make_bundle(
        prepared,
        state,
        name="mine",
        seconds=1.0,
        device="cpu",
        baselines={"random": 3.0},
        envelope=lambda _tensors: envelope,
    )


def situations(prepared: Prepared, number: int = 12) -> list[Situation]:
    """Return clusters, pods and masks that a policy meets in training."""
    met: list[Situation] = []

    def score(arrays: Any, pod_class: Any, feasible: Any) -> Any:
        met.append((arrays, pod_class, feasible))
        return np.cos(len(met) * np.arange(1, feasible.shape[0] + 1))

    plan = prepared.plan
    compiled = TraceSource(build_workload(plan.workload, plan.workload_config)).compiled(TRAINING_SEED)
    for _ in Reference(compiled, Policy(score), prepared.program.task.filters).play():
        if len(met) >= number:
            break
    return met


CASES = [pytest.param("ppo", {"network": name, **LATENCY}, id=name) for name in NETWORKS.names()]
CASES += [
    pytest.param("ppo", {"prior": "energy-latency", **LATENCY}, id="hybrid"),
    pytest.param("ppo", {"dial": True, "network": "deepsets", **LATENCY}, id="dial"),
    pytest.param("qtable", {}, id="qtable"),
    pytest.param("qtable", {"learner_config": {**SMALL["qtable"], "lookahead": 2}}, id="qtable with look-ahead"),
]


@pytest.mark.parametrize(("learner", "changes"), CASES)
def test_the_reloaded_policy_scores_as_the_trained_one(learner: str, changes: dict[str, Any], tmp_path: Path):
    prepared = prepare(tiny_plan(learner, **changes))
    state = some_state(prepared)
    policy = some_bundle(prepared, state)
    write_beside(tmp_path, policy)
    reloaded = read_folder(tmp_path)
    for name, tensor in policy.tensors.items():
        assert reloaded.tensors[name].tobytes() == tensor.tobytes(), name
    task, ops = prepared.program.task, needed(prepared.program.blueprint.ops)
    tensors = {name: jnp.asarray(leaf) for name, leaf in best_tensors(prepared, state).items()}
    preference = jnp.asarray([one.weight for one in policy.preference], jnp.float32)

    @jax.jit
    def in_training(arrays: Any, pod_class: Any, feasible: Any) -> Any:
        inputs = policy_inputs(arrays, pod_class, feasible, task.features, task.prior, preference)
        return forward(ops, tensors, inputs)[SCORE]

    heuristic = learned(reloaded)
    found = situations(prepared)
    assert len(found) >= 6
    for arrays, pod_class, feasible in found:
        want = np.asarray(in_training(*to_jax((arrays, pod_class, feasible))))
        got = heuristic.score(arrays, pod_class, feasible)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        assert int(choose(arrays, got, feasible)) == int(choose(arrays, want, feasible))


def test_the_reloaded_table_defers_as_in_training(tmp_path: Path):
    # More than fits, so that pods are tried again and again.
    prepared = prepare(tiny_plan("qtable", workload_config={"pods": 24, "load": 2.0}))
    state = some_state(prepared)
    write_beside(tmp_path, some_bundle(prepared, state))
    reloaded = learned(read_folder(tmp_path))
    assert reloaded.may_defer
    task, ops = prepared.program.task, needed(prepared.program.blueprint.ops)
    tensors = {name: jnp.asarray(leaf) for name, leaf in best_tensors(prepared, state).items()}
    want = jax.jit(lambda params: judge_all(task, ops, tensors, params, jnp.zeros(0, jnp.float32)))(
        prepared.data.bank.params
    )
    source = TraceSource(build_workload(prepared.plan.workload, prepared.plan.workload_config))
    for number, seed in enumerate(range(TRAINING_SEED, TRAINING_SEED + prepared.plan.traces)):
        steps = list(Reference(source.compiled(seed), reloaded, task.filters, objective=task.objective).play())
        decided = [step for step in steps if step.is_decision]
        assert len(decided) == want.decided[number]
        assert sum(step.node >= 0 for step in decided) == want.placed[number]
        assert sum(step.reward for step in decided) == pytest.approx(float(want.terms[number].sum()))
        eager = Reference(source.compiled(seed), dataclasses.replace(reloaded, may_defer=False), task.filters)
        assert [step.node for step in eager.play() if step.is_decision] != [step.node for step in decided]


def test_the_best_seed_is_kept():
    prepared = prepare(tiny_plan())
    state = some_state(prepared, seeds=3)
    policy = some_bundle(prepared, state)
    assert policy.provenance["seed"] == 2
    assert policy.metrics["selection_return"] == 20.0
    assert policy.metrics["selection_return_random"] == 3.0
    assert policy.provenance["selection_returns"] == [0.0, 10.0, 20.0]
    np.testing.assert_array_equal(policy.tensors["score.weight"], state.best["score.weight"][2])


def test_what_only_the_value_needs_is_left_out():
    prepared = prepare(tiny_plan())
    policy = some_bundle(prepared, some_state(prepared))
    assert not any(name.startswith("value") for name in policy.tensors)


def test_the_dial_names_the_terms_with_weights_that_sum_to_one():
    prepared = prepare(tiny_plan("ppo", dial=True, network="deepsets", **LATENCY))
    policy = some_bundle(prepared, some_state(prepared))
    assert [one.term for one in policy.preference] == ["ee", "el-rl"]
    assert sum(one.weight for one in policy.preference) == pytest.approx(1.0)


def test_a_training_without_a_policy_says_so():
    prepared = prepare(tiny_plan())
    state = some_state(prepared)
    with pytest.raises(LongshoreError, match="diverged"):
        some_bundle(prepared, state._replace(best_worth=jnp.full(1, jnp.nan)))


def test_every_learner_has_a_small_form():
    assert set(SMALL) == set(LEARNERS.table)
