"""PWR's power model on plain arrays."""

import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.gpu_power import GpuWatts, active_sockets, node_watts, sockets, watts_of_models

IS_DEVICE = np.array([[True, True, True, True], [True, True, False, False], [False] * 4])
FREE = np.array([[1000, 999, 1000, 0], [1000, 1000, 0, 0], [0] * 4])
CPU = np.array([96000, 64000, 6000])
USED = np.array([32001, 0, 1])
WATTS = GpuWatts(np.array([10.0, 30.0, 30.0]), np.array([70.0, 300.0, 250.0]))
# The first has 48 cores = 3 sockets, of which 17 cores work, in 2; the second is idle; the third has 3 cores, no GPU.
WANT = [2 * 10 + 2 * 70 + 2 * 120 + 15, 2 * 30 + 2 * 15, 120]


def test_busy_gpus_and_active_sockets_draw_more() -> None:
    assert node_watts(FREE, IS_DEVICE, CPU, USED, WATTS).tolist() == WANT


def test_jax_agrees_with_numpy() -> None:
    arrays = (jnp.asarray(array) for array in (FREE, IS_DEVICE, CPU, USED))
    assert node_watts(*arrays, GpuWatts(*WATTS)).tolist() == WANT


def test_many_states_are_answered_at_once() -> None:
    other = FREE.copy()
    other[1, 0] = 500
    both = node_watts(np.stack([FREE, other]), IS_DEVICE, CPU, np.stack([USED, USED + [0, 1, 0]]), WATTS)
    assert both.shape == (2, 3) and (both[1] - both[0]).tolist() == [0.0, 270.0 + 105.0, 0.0]


def test_nodes_that_are_off_draw_nothing() -> None:
    is_on = np.array([True, False, True])
    assert node_watts(FREE, IS_DEVICE, CPU, USED, WATTS, is_on).tolist() == [WANT[0], 0.0, WANT[2]]


@pytest.mark.parametrize(("used", "want"), [(0, 0), (1, 1), (32000, 1), (32001, 2), (96000, 3), (99000, 3)])
def test_a_socket_is_active_from_its_first_core_on(used: int, want: int) -> None:
    assert active_sockets(np.array([96000]), np.array([used])).tolist() == [want]


def test_sockets_are_counted_up() -> None:
    assert sockets(np.array([8000, 32000, 33000, 96000, 104000])).tolist() == [1, 1, 2, 3, 4]


def test_models_are_looked_up_and_others_have_a_default() -> None:
    found = watts_of_models(["T4", "V100M32", "G3", "H900"])
    assert found.idle.tolist() == [10.0, 30.0, 50.0, 30.0]
    assert found.full.tolist() == [70.0, 300.0, 400.0, 250.0]
