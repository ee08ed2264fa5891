"""What a step tells beside the state: the cluster before and after it, what was earned, and whether that was all."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.words.trace import Create, LatencyChange, NodeFail, Trace
from longshore.objectives.base import never_ends
from longshore.policies import REGISTRY
from longshore.simulator.params import Kind, compile_trace
from longshore.simulator.transition import Program, initial, step
from support.builders import make_node, make_pod

PROGRAM = Program((REGISTRY.load("first-fit"),))


class Strict:
    """Ends an episode once a pod stands beside another."""

    reward = staticmethod(lambda change: change.after.readings.latency_ms[change.node])
    ends_episode = staticmethod(lambda change: change.after.state.pod_count[change.node] > 1)


class Lenient:
    """Goes on."""

    reward = Strict.reward
    ends_episode = staticmethod(never_ends)


@cache
def steps() -> dict[str, Any]:
    """Play two pods on a node that gets slower before its readings say so and then fails; a third one waits."""
    node = make_node("a").cpu("2").readings(latency_ms=10.0).build()
    pods = [make_pod(name).cpu("1").build() for name in "pqr"]
    times = zip((12.0, 13.0, 13.5), pods, strict=True)
    events = (LatencyChange(11.0, (("a", 40.0),)), *(Create(time, pod) for time, pod in times), NodeFail(14.0, "a"))
    params = jax.device_put(compile_trace(Trace((node,), events), lag_seconds=50.0).params)

    def body(state: Any, _: None) -> Any:
        acted = step(PROGRAM, params, state)
        told = {
            "kind": acted.taken.kind,
            "before": acted.change.before.state.pod_count[0],
            "after": acted.change.after.state.pod_count[0],
            "is_up": jnp.stack([acted.change.before.nodes.is_real[0], acted.change.after.nodes.is_real[0]]),
            "earned": acted.earned(Strict.reward),
            "is_over": acted.is_over(Strict()),
            "is_over_lenient": acted.is_over(Lenient()),
        }
        return acted.state, told

    _, told = jax.jit(lambda state: jax.lax.scan(body, state, None, length=14))(initial(params))
    return jax.tree.map(np.asarray, told)


def rows_of(kind: Kind) -> dict[str, list[Any]]:
    told = steps()
    return {name: values[told["kind"] == kind].tolist() for name, values in told.items()}


def test_a_placement_is_the_cluster_before_and_after_it() -> None:
    placed = rows_of(Kind.CREATE)
    assert (placed["before"], placed["after"]) == ([0, 1, 2], [1, 2, 2])


def test_what_is_earned_is_read_with_latencies_as_they_are_and_0_without_a_placement() -> None:
    assert rows_of(Kind.CREATE)["earned"] == [40.0, 40.0, 0.0]
    assert rows_of(Kind.FAIL)["earned"] == [0.0]


def test_a_step_that_changes_nodes_tells_them_before_and_after() -> None:
    assert rows_of(Kind.FAIL)["is_up"] == [[True, False]]


def test_it_is_over_when_nothing_is_left_or_the_objective_says_so() -> None:
    assert rows_of(Kind.CREATE)["is_over"] == [False, True, False]
    assert rows_of(Kind.CREATE)["is_over_lenient"] == [False, False, False]
    assert rows_of(Kind.IDLE)["is_over_lenient"][0]
