"""The look at a workload: what varies is kept, what never does is left out, and nothing is compiled for it."""

from dataclasses import dataclass

import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Trace
from longshore.filters import UPSTREAM
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.simulator.params import Compiled, compile_trace
from longshore.simulator.source import TraceSource
from longshore.training.run.probe import MOST_DECISIONS, probe
from longshore.workloads.build import build_workload
from support.builders import make_node, make_pod


def compiled(workload: str, number: int = 2, **parameters: int) -> list[Compiled]:
    source = TraceSource(build_workload(workload, parameters))
    return [source.compiled(seed) for seed in range(number)]


def test_what_never_varies_is_left_out() -> None:
    found = probe(compiled("test1"), parse_objective("el-rl"), UPSTREAM).features
    assert {"node_cpu_used", "after_cpu_used", "node_is_on", "latency"} <= set(found)
    # All pods are alike, and there are no GPUs.
    assert not {"pod_cpu", "pod_gpu", "gpu_size", "cost"} & set(found)


def test_gpus_are_looked_at_in_detail_where_there_are_some() -> None:
    nodes = (make_node("a").gpu(2, "T4").build(), make_node("b").gpu(1, "A100").build())
    pods = [make_pod(f"p{number}").cpu(100).gpu(1, 300).build() for number in range(6)]
    trace = Trace(nodes, tuple(Create(float(number), pod) for number, pod in enumerate(pods)))
    found = probe([compile_trace(trace)], parse_objective("ee"), UPSTREAM).features
    assert {"gpu_left_after", "gpu_opens", "gpu_devices", "gpu_busy_watts"} <= set(found)


def test_what_varies_from_trace_to_trace_is_kept() -> None:
    found = probe(compiled("memory-pods", pods=20), parse_objective("compress"), UPSTREAM).features
    assert "pod_memory" in found
    assert "node_cpu_used" not in found


def test_there_is_a_reward_for_every_term_of_every_decision() -> None:
    found = probe(compiled("test1", pods=5, cycles=1), parse_objective("ee=1,el-rl=2"), UPSTREAM).rewards
    assert found.shape == (2 * 5, 2)
    assert np.isfinite(found).all()


def test_rewards_are_not_weighed() -> None:
    plain, weighed = (
        probe(compiled("test1", pods=5), parse_objective(text), UPSTREAM).rewards for text in ("el-rl", "el-rl=100")
    )
    np.testing.assert_array_equal(plain, weighed)


def test_it_ends_when_enough_was_seen() -> None:
    found = probe(compiled("memory-pods", 3, pods=300), parse_objective("compress"), UPSTREAM).rewards
    assert MOST_DECISIONS - 3 <= len(found) <= MOST_DECISIONS


def test_traces_where_nothing_can_be_placed_are_refused() -> None:
    pod = make_pod("large").cpu(8000).build()
    trace = Trace((make_node("small").cpu(1000).build(),), (Create(0.0, pod),))
    with pytest.raises(InputError, match="no pod of the training traces can be placed"):
        probe([compile_trace(trace)], parse_objective("ee"), UPSTREAM)


@dataclass(frozen=True)
class Broken:
    """An objective that divides by nothing."""

    def reward(self, _step: Transition) -> Array:
        return np.float64("nan")

    ends_episode = staticmethod(never_ends)


def test_a_reward_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="not a finite number"):
        probe(compiled("test1", 1, pods=3), Weighted(((1.0, Broken()),)), UPSTREAM)
