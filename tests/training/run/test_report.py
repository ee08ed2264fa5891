"""The report on several trainings says what a comparison of their bundles says."""

from pathlib import Path

import jax
import numpy as np

from longshore.core.network.bundle import Envelope
from longshore.core.network.forward import needed, tensor_names
from longshore.evaluation.comparison import compare
from longshore.evaluation.metrics import METRICS
from longshore.simulator.play import compile_traces
from longshore.training.run.export import make_bundle, write_beside
from longshore.training.run.prepare import prepare
from longshore.training.run.report import report
from longshore.workloads.build import build_workload
from training.tiny import tiny_plan

WORKLOAD = {"nodes": 3, "pods": 6, "cycles": 1}
FEATURES = ("after_cpu_used", "node_is_on", "latency")
TRACES = 2


def test_a_report_equals_the_comparison_of_the_bundle(tmp_path: Path) -> None:
    plan = tiny_plan(workload="test1", workload_config=WORKLOAD, objective="el-rl", features=FEATURES, network="linear")
    prepared = prepare(plan)
    program = prepared.program
    state = prepared.program.init(prepared.data, jax.vmap(jax.random.PRNGKey)(np.arange(2)))
    draw = np.random.default_rng(0)
    tensors = {name: draw.normal(size=state.best[name].shape).astype(np.float32) for name in state.best}
    state = state._replace(best=tensors, best_worth=np.array([0.0, 1.0]), best_return=np.zeros(2))
    envelope = Envelope((0.0,) * len(FEATURES), (1.0,) * len(FEATURES))
    policy = make_bundle(
        prepared, state, name="mine", seconds=1.0, device="cpu", baselines={}, envelope=lambda _tensors: envelope
    )
    write_beside(tmp_path / "mine", policy)
    compiled = compile_traces([build_workload("test1", WORKLOAD).trace(seed) for seed in range(TRACES)])
    found = report(
        program.task,
        program.blueprint,
        {name: tensors[name] for name in tensor_names(needed(program.blueprint.ops))},
        compiled,
    )
    (row,) = compare(
        "test1", [str(tmp_path / "mine")], "el-rl", seeds=TRACES, parameters=WORKLOAD, has_bounds=False
    ).rows
    assert set(found) == set(METRICS)
    for name, values in found.items():
        assert values.shape == (2, TRACES)
        np.testing.assert_allclose(values[1], row.values[name], rtol=1e-6, atol=1e-9, err_msg=name)
    assert (found["reward"][0] != found["reward"][1]).any()
