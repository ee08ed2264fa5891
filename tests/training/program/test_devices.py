"""Devices: a machine without one says so, and two share the work with the result of one."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import jax
import pytest

from longshore.core.words.errors import InputError
from longshore.training.program.devices import Layout, find_devices

TWO_DEVICES = """
import jax, numpy as np
jax.config.update("jax_disable_most_optimizations", True)
from longshore.training.program.devices import Layout, find_devices
from longshore.training.run.prepare import prepare
from training.tiny import tiny_plan

devices = find_devices("cpu")
assert len(devices) == 2
prepared = prepare(tiny_plan("ppo"))
keys = jax.vmap(jax.random.PRNGKey)(np.arange(1))

def trained(devices):
    layout = Layout(devices, 1, prepared.program.learner.envs)
    data = layout.place_data(prepared.data)
    state = prepared.program.init(data, keys)
    for _ in range(2):
        placed = layout.place_state(state)
        on = {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(placed.envs)}
        halves = {leaf.addressable_shards[0].data.shape[1] for leaf in jax.tree.leaves(placed.envs)}
        state, figures = prepared.program.chunk(data, placed)
    return on, halves, jax.tree.map(np.asarray, (state, figures))

alone, all_envs, want = trained(devices[:1])
shared, half, got = trained(devices)
assert (alone, shared, all_envs, half) == ({1}, {2}, {2}, {1}), (alone, shared, all_envs, half)
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), got, want)

# Several trainings are dealt out whole.
layout = Layout(devices, 2, 3)
state = jax.eval_shape(prepared.program.init, prepared.data, jax.vmap(jax.random.PRNGKey)(np.arange(2)))
placed = layout.place_state(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), state))
assert {leaf.addressable_shards[0].data.shape[0] for leaf in jax.tree.leaves(placed)} == {1}
assert {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(placed)} == {2}

# What cannot be dealt out stays on one device.
assert len(Layout(devices, 1, 3).devices) == 1
assert len(Layout(devices, 1, None).devices) == 1
print("same")
"""


def test_two_devices_share_the_environments_and_give_the_result_of_one():
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    result = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], capture_output=True, text=True, env=environment, check=False
    )
    assert (result.returncode, result.stdout) == (0, "same\n"), result.stderr


def test_one_device_is_used_as_it_is():
    devices = find_devices()
    layout = Layout(devices[:1], 4, 8)
    assert (layout.devices, layout.is_over_seeds, layout.is_over_envs) == (devices[:1], False, False)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="expected one of: cpu, gpu"):
        find_devices("tpu")


def test_a_missing_gpu_is_answered_in_words(monkeypatch: pytest.MonkeyPatch):
    if any(device.platform == "gpu" for device in jax.devices()):
        # This machine has one: JAX answers as it does where there is none.
        monkeypatch.setattr(jax, "devices", Mock(side_effect=RuntimeError("Unknown backend: 'gpu' requested")))
    with pytest.raises(InputError, match=r"no gpu that JAX can use[\s\S]*leave `--device` out"):
        find_devices("gpu")
