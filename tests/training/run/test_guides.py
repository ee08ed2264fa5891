"""Recorded guides: the optimum's placements earn the optimum, files are read with care, and learners follow both."""

import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.evaluation.identical import make_identical
from longshore.evaluation.optimum_beam import best_found
from longshore.evaluation.optimum_dp import make_table, optimum
from longshore.filters import filter_set
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.simulator.params import Compiled, SimParams
from longshore.simulator.play import compile_traces, stack
from longshore.simulator.rollout import measure
from longshore.simulator.state import SimState
from longshore.simulator.transition import act, initial, look
from longshore.training.run.guides import OPTIMUM, find_guide, is_recorded, pinned, read_decisions, recorded_placements
from longshore.training.run.jobs import learn, never_stop
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import prepare
from longshore.workloads.build import build_workload
from training.tiny import SMALL, tiny_plan

FILTERS = filter_set("upstream+latency")
EL_RL = parse_objective("el-rl")


def traces(workload: str, seeds: range, **parameters: object) -> list[Compiled]:
    built = build_workload(workload, parameters)
    return compile_traces([built.trace(seed) for seed in seeds])


def placements(guide: str, compiled: list[Compiled], objective: Weighted = EL_RL) -> Array:
    return recorded_placements(guide, compiled, objective, FILTERS, compiled[0].params.pod_class.shape[0])


def earned(compiled: list[Compiled], nodes: Array, objective: Weighted = EL_RL) -> Array:
    """Play recorded placements in the simulator [traces]."""
    length = 3 * compiled[0].params.event_time.shape[0]

    def play(params: SimParams, nodes: Array) -> Array:
        def body(state: SimState, _: None) -> tuple[SimState, Array]:
            state, seen = look(FILTERS, params, state)
            nothing = jnp.zeros(params.cluster.state.gpu_used.shape[1], jnp.int64)
            acted = act(params, state, seen, nodes[seen.event.pod], nothing, has_node_events=False)
            return acted.state, measure(objective, acted).reward

        return jax.lax.scan(body, initial(params), None, length=length)[1].sum()

    return np.asarray(jax.jit(jax.vmap(play))(stack([one.params for one in compiled]), jnp.asarray(nodes)))


def test_the_optimums_placements_earn_what_the_table_says() -> None:
    compiled = traces("test1", range(4))
    nodes = placements(OPTIMUM, compiled)
    assert nodes.dtype == np.int32
    want = [optimum(make_table(make_identical(one, EL_RL, FILTERS)), "reward").value for one in compiled]
    np.testing.assert_allclose(earned(compiled, nodes), want, rtol=1e-12)
    assert want[0] == pytest.approx(118.6)


def test_where_pods_leave_one_by_one_the_beams_placements_earn_what_it_found() -> None:
    compiled = traces("test2", range(2), pods=20)
    tables = [make_table(make_identical(one, EL_RL, FILTERS)) for one in compiled]
    assert not any(table.is_exact for table in tables)
    want = [best_found(table, "reward").value for table in tables]
    np.testing.assert_allclose(earned(compiled, placements(OPTIMUM, compiled)), want, rtol=1e-12)


def test_pods_beyond_the_trace_are_not_recorded() -> None:
    compiled = traces("test1", range(1))
    num_pods = len(compiled[0].pod_names)
    nodes = placements(OPTIMUM, compiled)[0]
    assert num_pods < len(nodes)
    assert (nodes[:num_pods] >= 0).all() and (nodes[num_pods:] == -1).all()


def test_a_trace_whose_optimum_is_not_known_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="trace cannot be found: pods have 5 different requests"):
        placements(OPTIMUM, traces("memory-pods", range(1), pods=6), parse_objective("compress"))


def test_the_optimum_is_no_guide_for_a_dial() -> None:
    with pytest.raises(InputError, match="the optimum is that of one setting"):
        prepare(tiny_plan("imitation", guide=OPTIMUM, objective="compress=1,ee=1", dial=True))


def test_a_file_names_nodes_of_pods(tmp_path: Path) -> None:
    compiled = traces("memory-pods", range(2), pods=6)
    first, second, third = compiled[0].pod_names[:3]
    file = tmp_path / "decisions.jsonl"
    file.write_text(
        f'{{"pod": "{first}", "node": null, "pending_reason": "no room"}}\n'
        f'{{"pod": "{first}", "node": "node-2", "policy": "mine", "scores": {{"node-2": 1.5}}}}\n'
        f'{{"pod": "{first}", "node": "node-0"}}\n'
        "\n"
        f'{{"pod": "{second}", "node": "elsewhere"}}\n'
        '{"pod": "default/unheard-of", "node": "node-1"}\n'
        f'{{"pod": "{third}", "node": "node-1"}}\n'
    )
    nodes = placements(str(file), compiled)
    assert nodes[0, :4].tolist() == [compiled[0].encoded.node_index["node-2"], -1, 1, -1]
    assert (nodes[0] == nodes[1]).all()


def test_a_file_about_other_pods_is_refused_with_the_names_that_were_expected(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_text('{"pod": "default/unheard-of", "node": "node-1"}\n')
    compiled = traces("memory-pods", range(1), pods=6)
    with pytest.raises(InputError, match="none of its 1 placements") as raised:
        placements(str(file), compiled)
    assert compiled[0].pod_names[0] in str(raised.value)


@pytest.mark.parametrize("line", ["node-1", '{"pod": "p"}', '{"pod": 3, "node": "n"}', '["p", "n"]', "\xff"])
def test_a_line_that_is_no_decision_is_refused_by_its_number(line: str, tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_bytes(b'{"pod": "p", "node": "n"}\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match="line 2: ") as raised:
        read_decisions(file)
    assert '{"pod": "namespace/name", "node": "name"}' in str(raised.value)


def test_a_guide_is_a_heuristic_or_recorded_or_unknown(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.touch()
    assert find_guide("best-fit") is not None and not is_recorded("best-fit")
    for recorded in (OPTIMUM, str(file)):
        assert find_guide(recorded) is None and is_recorded(recorded)
    assert find_guide("") is None and not is_recorded("")
    with pytest.raises(UnknownNameError, match="did you mean `optimum`"):
        find_guide("optimun")
    with pytest.raises(InputError, match=r"file `nofile\.jsonl` is not there"):
        find_guide("nofile.jsonl")


def test_a_plan_says_which_file_guided_it(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_text('{"pod": "p", "node": "n"}\n')
    plan = pinned(tiny_plan("imitation", guide=str(file)))
    assert plan.guide_sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert pinned(plan) == plan
    file.write_text('{"pod": "p", "node": "m"}\n')
    with pytest.raises(InputError, match="another file than the run was begun with"):
        pinned(plan)
    for guide in ("best-fit", OPTIMUM):
        assert pinned(tiny_plan("imitation", guide=guide)).guide_sha256 == ""


@pytest.mark.slow
def test_imitation_clones_the_optimum() -> None:
    plan = Plan(
        learner="imitation",
        network="deepsets",
        network_config={"width": 16},
        learner_config={"steps": 3000, "envs": 8, "segment": 64, "clone_share": 1.0, "learning_rate": 0.005},
        features=("after_cpu_used", "node_is_on", "latency", "latency_within_soft", "latency_within_hard"),
        guide=OPTIMUM,
        traces=6,
        selection_traces=4,
        evaluations=2,
    )
    # Random placements earn about 58, the best heuristic 110, the optimum 118.6.
    assert learn(prepare(plan), never_stop)["returns"][0] >= 115.0


def test_dqn_fills_its_memory_with_the_decisions_of_a_file(tmp_path: Path) -> None:
    # One pod at a time, so that the node which the file names is never full.
    workload = {"pods": 6, "load": 0.02}
    file = tmp_path / "decisions.jsonl"
    names = traces("memory-pods", range(1), **workload)[0].pod_names
    file.write_text("".join(f'{{"pod": "{name}", "node": "node-1"}}\n' for name in names))
    config: dict[str, Any] = {**SMALL["dqn"], "prefill": 1000, "horizon": 1, "segment": 32, "memory": 128}
    prepared = prepare(tiny_plan("dqn", guide=str(file), learner_config=config, workload_config=workload))
    state = prepared.program.init(prepared.data, jax.random.PRNGKey(0)[None])
    state, _ = prepared.program.chunk(prepared.data, state)
    stored = int(state.learner.stored[0])
    assert stored > 3
    assert state.learner.memory.action[0, :stored].tolist() == [1] * stored
