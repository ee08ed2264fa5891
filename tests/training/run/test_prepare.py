"""From a plan to what is trained: the traces, features and sizes that the plan asks for."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.training.program.limits import Limit
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import prepare
from training.tiny import tiny_plan

LATENCY = {"workload": "test1", "workload_config": {"pods": 4, "cycles": 1}, "features": ()}


def test_traces_to_train_on_and_to_select_by_are_other_ones() -> None:
    data = prepare(tiny_plan(traces=4, selection_traces=4)).data
    trained, selected = (
        {one.tobytes() for one in np.asarray(params.pod_lifetime)} for params in (data.bank.params, data.selection)
    )
    assert len(trained) == len(selected) == 4
    assert not trained & selected


def test_training_and_selection_have_one_shape() -> None:
    data = prepare(tiny_plan(traces=2, selection_traces=3)).data
    shapes = [[leaf.shape[1:] for leaf in jax.tree.leaves(one)] for one in (data.bank.params, data.selection)]
    assert shapes[0] == shapes[1]
    assert data.bank.recorded.shape == (2, data.bank.params.pod_class.shape[1])
    assert (data.bank.recorded == -1).all()


def test_features_are_those_of_the_plan_or_of_the_learner_or_whatever_varies() -> None:
    assert prepare(tiny_plan(features=("is_feasible",))).program.task.features == ("is_feasible",)
    assert prepare(tiny_plan("qtable")).program.task.features == ("node_memory_free", "pod_memory")
    found = prepare(tiny_plan(features=())).program.task.features
    assert {"pod_memory", "node_memory_free"} <= set(found)
    assert "gpu_size" not in found


def test_a_learner_with_a_network_of_its_own_uses_that() -> None:
    ops = prepare(tiny_plan("qtable", network="deepsets")).program.blueprint.ops
    assert [op.kind for op in ops] == ["lookup"]


def test_only_a_learner_that_may_defer_does() -> None:
    assert prepare(tiny_plan("qtable")).program.task.may_defer
    assert not prepare(tiny_plan("dqn")).program.task.may_defer


def test_heuristics_and_limits_are_read() -> None:
    plan = tiny_plan("dqn", prior="energy-latency", guide="best-fit", limit="p99_latency_ms<=25", **LATENCY)
    found = prepare(plan).program
    assert found.task.prior is not None
    assert found.task.guide is not None
    assert found.task.limit == Limit(25.0, 0.99)
    assert "prior_scale" in dict(found.blueprint.shapes)


def test_a_dial_is_part_of_what_the_network_is_told() -> None:
    prepared = prepare(tiny_plan(dial=True, network="deepsets", objective="ee=1,el-rl=1", **LATENCY))
    task = prepared.program.task
    assert dict(prepared.program.blueprint.shapes)["encode.weight"].shape[0] == len(task.features) + 2
    dials = np.asarray(prepared.data.dials)
    np.testing.assert_allclose(dials.sum(axis=1), 1.0)
    assert {(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)} <= {tuple(row) for row in dials.tolist()}


@pytest.mark.parametrize(
    ("learner", "changes", "want"),
    [
        pytest.param("ppo", {"guide": "best-fit"}, "follows none", id="guide for nobody"),
        pytest.param("imitation", {}, "nobody to imitate", id="imitation without a guide"),
        pytest.param("qtable", {"prior": "best-fit"}, "neither a prior nor a dial", id="prior of a table"),
        pytest.param("ppo", {"dial": True, "objective": "ee=1,lb=1"}, "cannot depend on it", id="dial of linear"),
        pytest.param(
            "ppo",
            {"dial": True, "network": "deepsets", "objective": "ee=1,watts=-1"},
            "weights above 0",
            id="dial with a negative weight",
        ),
    ],
)
def test_what_would_do_nothing_is_refused(learner: str, changes: dict[str, Any], want: str) -> None:
    plan = tiny_plan(learner, **changes)
    plan = plan if changes.get("guide") else replace(plan, guide="")
    with pytest.raises(InputError, match=want):
        prepare(plan)


def test_more_parts_than_steps_are_refused() -> None:
    plan = tiny_plan("ppo")
    plan = replace(plan, learner_config={**plan.learner_config, "parts": 100_000})
    with pytest.raises(InputError, match="100000 parts"):
        prepare(plan)


@dataclass(frozen=True)
class Half:
    """Learns, and says nothing of itself."""

    steps: int = 5


def test_a_learner_that_lacks_a_part_is_refused_with_what_to_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "build_learner", lambda _plan: Half())
    with pytest.raises(InputError, match="got a Half that lacks a part") as raised:
        prepare(tiny_plan())
    assert "inherit from `Learner` or `Population`" in str(raised.value)


def test_a_dial_between_one_term_is_refused() -> None:
    with pytest.raises(InputError, match="two terms or more"):
        prepare(tiny_plan(dial=True))


def test_an_unknown_filter_set_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="upstream"):
        prepare(tiny_plan(filters="upsteam"))


def test_an_unknown_heuristic_is_refused() -> None:
    with pytest.raises(InputError, match="best-fit"):
        prepare(tiny_plan(guide="best-fitt"))


def test_updates_and_chunks_make_up_the_steps() -> None:
    config = {"envs": 4, "segment": 10, "steps": 4000}
    prepared = prepare(tiny_plan(learner_config=config, evaluations=10))
    # Half of all steps are decisions: 20 for each update, so 200 updates.
    assert (prepared.program.updates, prepared.chunks, prepared.steps) == (20, 10, 4000)


def test_a_population_ends_by_its_generations() -> None:
    prepared = prepare(tiny_plan("evolution", learner_config={"generations": 12}, evaluations=4))
    assert (prepared.program.updates, prepared.chunks, prepared.steps) == (3, 4, 0)


def test_weights_by_load_need_gpus() -> None:
    plan = tiny_plan("evolution", network="kinds", network_config={"by_load": True})
    with pytest.raises(InputError, match="have no GPUs"):
        prepare(plan)
    assert prepare(replace(plan, network_config={})).program.blueprint.ops
