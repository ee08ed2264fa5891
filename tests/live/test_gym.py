"""Tests of `longshore/Live-v0`: Gymnasium's rules, the simulator's numbers, and nobody else's pods without a word."""

import threading
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from longshore.core.words.errors import InputError
from longshore.live import gym as live_gym
from longshore.live.gym import LiveEnv
from longshore.simulator.gym import PlacementEnv
from longshore_lab.cluster import LocalCluster
from support.local_cluster import namespace_in

TEST1 = {"cycles": 1, "pods": 4}


@pytest.fixture(scope="module")
def env(local_cluster: LocalCluster) -> Iterator[LiveEnv]:
    made = gymnasium.make(
        live_gym.ID, kubeconfig=local_cluster.kubeconfig, workload="test1", parameters=TEST1, make_nodes=True
    )
    yield made.unwrapped  # type: ignore[misc]
    made.close()


def test_gymnasium_s_checks_pass(env: LiveEnv) -> None:
    check_env(env)


def test_an_episode_is_that_of_the_simulator(env: LiveEnv) -> None:
    simulator = PlacementEnv("test1", TEST1)
    rows, info = env.reset(seed=3)
    others, expected = simulator.reset(seed=3)
    actions = iter([3, 0, 0, 3, 1, 2, 2, 1, 0, 0])  # 3 defers: the pod is tried again after the latencies change
    is_over = False
    while not is_over:
        np.testing.assert_array_equal(rows, others)
        assert info["action_mask"].tolist() == expected["action_mask"].tolist()
        assert (info["pod"], info["time_seconds"]) == (expected["pod"], expected["time_seconds"])
        action = np.int64(next(actions))
        rows, reward, is_over, _, info = env.step(action)
        others, simulated_reward, is_simulated_over, _, expected = simulator.step(action)
        assert reward == pytest.approx(simulated_reward)
        assert is_over == is_simulated_over
        assert (info["node"], info["was_infeasible"]) == (expected["node"], expected["was_infeasible"])


def test_a_step_binds_a_real_pod(env: LiveEnv, local_cluster: LocalCluster) -> None:
    _, info = env.reset(seed=0)
    namespace, _, name = info["pod_name"].partition("/")
    env.step(np.int64(1))
    node = local_cluster.kubectl("get", "pod", name, "-n", namespace, "-o", "jsonpath={.spec.nodeName}")
    assert node == "worker-1"


def test_an_action_that_is_not_allowed_defers(env: LiveEnv) -> None:
    env.reset(seed=0)
    is_over, actions = False, 0
    while not is_over:
        beyond = np.flatnonzero(~env.action_masks())
        action = int(beyond[0]) if len(beyond) else env.action_space.n - 1  # type: ignore[attr-defined]
        _, reward, is_over, _, info = env.step(np.int64(action))
        actions += 1
        assert (reward, info["node"]) == (0.0, -1)
        assert info["was_infeasible"] == bool(len(beyond))
    assert actions >= 4


def test_without_a_workload_it_must_be_told_that_it_may() -> None:
    with pytest.raises(InputError, match="did not create") as refused:
        LiveEnv(workload=None)
    assert "allow_others=True" in str(refused.value)


def test_others_pods_are_placed_only_where_somebody_agrees(local_cluster: LocalCluster) -> None:
    asked = []

    def confirm(pod: object) -> bool:
        asked.append(pod.name)  # type: ignore[attr-defined]
        return bool(pod.name == "yes")  # type: ignore[attr-defined]

    with namespace_in(local_cluster) as namespace:
        for name in ("no", "yes"):
            overrides = '{"spec":{"schedulerName":"by-hand"}}'
            local_cluster.kubectl("run", name, "-n", namespace, "--image=none", f"--overrides={overrides}")
        env = LiveEnv(
            local_cluster.kubeconfig, workload=None, scheduler_name="by-hand", confirm=confirm, wait_seconds=1.0
        )
        try:
            _, info = env.reset()
            assert info["pod_name"] == f"{namespace}/yes"
            _, _, is_over, _, info = env.step(np.int64(0))
        finally:
            env.close()
        places = local_cluster.kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].spec.nodeName}")
    assert is_over
    assert info["node"] == 0
    assert places.split() == ["node-0"]
    assert sorted(asked) == ["no", "yes"]


def test_an_unknown_kubeconfig_is_refused_and_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(InputError):
        LiveEnv(tmp_path / "none")
    assert threading.active_count() == before
