"""The blocks that find the next pod always say what a look at all pods would say."""

import jax
import jax.numpy as jnp
import numpy as np

from longshore.filters import filter_set
from longshore.policies import REGISTRY
from longshore.simulator.params import compile_trace
from longshore.simulator.state import ASLEEP, LATE, RUNNING, WAITING
from longshore.simulator.transition import Program, initial, step
from simulator.traces import random_trace


def test_blocks_agree_with_all_pods_after_every_step():
    program = Program((REGISTRY.load("first-fit"),), filter_set("upstream+latency"))
    params = jax.tree.map(jnp.asarray, compile_trace(random_trace(3, pods=70)).params)

    def body(state, _):
        after = step(program, params, state).state
        return after, after

    _, states = jax.jit(lambda state: jax.lax.scan(body, state, None, length=300))(initial(params))
    states = jax.tree.map(np.asarray, states)
    num_pods = states.pod_phase.shape[1]
    order = states.pod_order.reshape(300, -1)[:, :num_pods]
    end = states.pod_end.reshape(300, -1)[:, :num_pods]
    np.testing.assert_array_equal(order < LATE, states.pod_phase == WAITING)
    assert np.isinf(end[~np.isin(states.pod_phase, (RUNNING, ASLEEP))]).all()
    assert (states.pod_phase == ASLEEP).any()
    np.testing.assert_array_equal(states.first_end, states.pod_end.min(axis=2))
    np.testing.assert_array_equal(states.first_waiting, states.pod_order.min(axis=2))
    untried = np.where(states.pod_tried < states.epoch[:, None, None], states.pod_order, LATE)
    np.testing.assert_array_equal(states.first_untried, untried.min(axis=2))
    assert (states.pod_phase == WAITING).any()
