"""The pipe by which a learner in another Python plays `longshore/Placement-v0` (benchmarks/sb3)."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import longshore.simulator.gym  # noqa: F401 - registers the environment

PROXY = Path(__file__).parents[1] / "benchmarks" / "sb3" / "proxy.py"


@pytest.fixture(scope="module")
def proxy() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("sb3_proxy", PROXY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    env = module.PlacementProxy(sys.executable, workload="test1", objective="el-rl")
    yield env
    env.close()


def test_proxy_plays_as_the_environment_does(proxy: Any):
    env = gymnasium.make("longshore/Placement-v0", workload="test1", objective="el-rl").unwrapped
    assert proxy.observation_space == env.observation_space
    assert proxy.action_space == env.action_space
    mine, _ = proxy.reset(seed=3)
    theirs, _ = env.reset(seed=3)
    for number in range(20):
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(proxy.action_masks(), env.action_masks())
        allowed = np.flatnonzero(proxy.action_masks())
        action = int(allowed[number % len(allowed)])
        mine, *told = proxy.step(action)
        theirs, *expected = env.step(action)
        assert told[:3] == expected[:3]


def test_proxy_says_when_the_other_side_is_gone(proxy: Any):
    proxy.reset(seed=0)
    with pytest.raises(RuntimeError, match="has ended"):
        # An action that does not exist ends the other process.
        proxy.step(99)
