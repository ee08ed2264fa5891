"""The Gymnasium face: what Gymnasium checks, what sb3-contrib asks for, and many environments equal to each one."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from longshore import filters, policies
from longshore.core.arrays.features import ALL, default_names, features
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.simulator.gym import ID, PlacementEnv, PlacementVectorEnv, _Programs, programs
from longshore.simulator.params import compile_trace
from longshore.simulator.reference import Reference
from longshore.workloads.build import build_workload

SMALL: dict[str, Any] = {"workload": "test1", "parameters": {"pods": 12}}


def make(**arguments: Any) -> PlacementEnv:
    env = gymnasium.make(ID, **(SMALL | arguments)).unwrapped
    assert isinstance(env, PlacementEnv)
    return env


def make_many(number: int, **arguments: Any) -> PlacementVectorEnv:
    envs = gymnasium.make_vec(ID, num_envs=number, vectorization_mode="vector_entry_point", **(SMALL | arguments))
    assert isinstance(envs, PlacementVectorEnv)
    return envs


def programs_of(env: PlacementEnv | PlacementVectorEnv) -> _Programs:
    return programs(replace(env.setup.environment, has_node_events=env.setup.source.has_node_events))


def masked_choice(mask: np.ndarray, generator: np.random.Generator) -> int:
    return int(generator.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize(
    "script",
    [
        "import gymnasium, longshore.simulator.gym; gymnasium.make('longshore/Placement-v0').reset(seed=1)",
        "import gymnasium; gymnasium.make('longshore.simulator.gym:longshore/Placement-v0').reset(seed=1)",
    ],
)
def test_make_works_in_a_fresh_process(script: str, tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


ASYNC = """
import sys
import gymnasium
import jax
import numpy as np
import longshore.simulator.gym

if __name__ == "__main__":
    jax.numpy.zeros(1).block_until_ready()
    arguments = dict(workload="test1", parameters={"pods": 12}, vector_kwargs={"context": sys.argv[1]})
    envs = gymnasium.make_vec("longshore/Placement-v0", num_envs=2, vectorization_mode="async", **arguments)
    try:
        rows, _ = envs.reset(seed=3)
        again, reward, *_ = envs.step(np.zeros(2, np.int64))
        print(rows.shape, reward.shape)
    except Exception as error:
        print(error)
    envs.close(terminate=True)
"""


@pytest.mark.parametrize(("context", "want"), [("spawn", "(2, 3, "), ("fork", 'vector_kwargs={"context": "spawn"}')])
def test_workers_play_after_jax_was_used_or_say_how_they_would(context: str, want: str, tmp_path: Any) -> None:
    script = tmp_path / "play.py"
    script.write_text(ASYNC)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, context], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert want in done.stdout, done.stdout + done.stderr


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    # Warnings are errors here.
    check_env(make())


def test_a_random_masked_rollout_ends_with_the_trace() -> None:
    env = make()
    generator = np.random.default_rng(0)
    rows, info = env.reset(seed=3)
    placed, is_over = 0, False
    while not is_over:
        mask = env.action_masks()
        assert (mask == info["action_mask"]).all()
        assert mask.shape == (4,)
        assert mask[-1]
        # The mask is also a column, so that a policy can see it.
        assert (rows[:, default_names(has_gpus=False).index("is_feasible")] == mask[:-1]).all()
        rows, reward, is_over, is_truncated, info = env.step(masked_choice(mask, generator))
        assert rows in env.observation_space
        assert not is_truncated
        assert not info["was_infeasible"]
        assert (reward != 0) == (info["node"] >= 0)
        placed += info["node"] >= 0
    assert 0 < placed <= 24


def test_the_actions_of_a_heuristic_give_the_slow_twins_placements() -> None:
    parameters = {"nodes": 4, "pods": 30, "load": 0.9}
    arguments = {"filters": "upstream", "objective": "watts", "features": ("node_cpu_used", "is_feasible")}
    env = make(workload="churn", parameters=parameters, **arguments)
    compiled = compile_trace(build_workload("churn", parameters).trace(5), seed=5)
    twin = Reference(compiled, policies.REGISTRY.load("kube-default"))
    rows, info = env.reset(seed=5)
    is_over = False
    for step in (step for step in twin.play() if step.is_decision):
        assert not is_over
        assert (info["pod"], info["time_seconds"]) == (step.pod, step.time)
        action = step.node if step.node >= 0 else 4
        assert info["action_mask"][action]
        rows, _, is_over, _, info = env.step(np.int64(action))
        assert info["node"] == step.node
    assert is_over
    assert rows.shape == (4, 2)


def test_observations_are_the_features_of_the_cluster() -> None:
    env = make(features=("pod_cpu", "node_cpu_used", "latency", "pod_latency_hard"))
    rows, info = env.reset(seed=0)
    compiled = compile_trace(build_workload("test1", {"pods": 12}).trace(0), seed=0)
    cluster, pod_class = compiled.params.cluster, compiled.params.pod_class[info["pod"]]
    feasible = filters.feasible(cluster, pod_class, filters.filter_set("upstream+latency"))
    want = features(cluster, pod_class, feasible, ("pod_cpu", "node_cpu_used", "latency", "pod_latency_hard"))
    np.testing.assert_allclose(rows, want, atol=1e-6)
    rows, *_ = env.step(np.int64(0))
    assert rows[0, 1] > 0
    assert (rows[1:, 1] == 0).all()


def test_an_action_that_is_not_allowed_defers_and_is_told() -> None:
    env = make()
    _, info = env.reset(seed=0)
    while info["action_mask"].all():
        _, _, is_over, _, info = env.step(np.int64(0))
        assert not is_over
    _, reward, _, _, info = env.step(np.int64(np.argmin(info["action_mask"])))
    assert info["was_infeasible"]
    assert info["node"] == -1
    assert reward == 0


def test_a_seed_gives_the_same_episodes_again() -> None:
    def played(env: PlacementEnv, seed: int) -> list[Any]:
        generator = np.random.default_rng(1)
        found: list[Any] = []
        rows, _ = env.reset(seed=seed)
        for _ in range(60):
            rows, reward, is_over, _, _ = env.step(np.int64(masked_choice(env.action_masks(), generator)))
            found.append((rows.tobytes(), reward))
            if is_over:
                rows, _ = env.reset()
        return found

    one = make()
    assert played(one, 7) == played(one, 7) == played(make(), 7)
    assert played(one, 7) != played(one, 8)


def test_many_equal_each_one_step_by_step_through_autoreset() -> None:
    number, seed = 3, 11
    envs, singles = make_many(number), [make() for _ in range(number)]
    generator = np.random.default_rng(2)
    rows, info = envs.reset(seed=seed)
    told = [single.reset(seed=seed + i) for i, single in enumerate(singles)]
    ended = np.zeros(number, bool)
    num_ended = 0
    for _ in range(70):
        for i in range(number):
            np.testing.assert_array_equal(rows[i], told[i][0])
            for key, value in told[i][-1].items():
                np.testing.assert_array_equal(info[key][i], value, err_msg=key)
                assert info[f"_{key}"][i]
        np.testing.assert_array_equal(envs.action_masks(), info["action_mask"])
        actions = np.array([masked_choice(mask, generator) for mask in info["action_mask"]])
        rows, rewards, terminated, truncated, info = envs.step(actions)
        for i, single in enumerate(singles):
            if ended[i]:
                told[i] = single.reset()
                assert (rewards[i], terminated[i]) == (0, False)
            else:
                one_rows, reward, is_over, _, one_info = single.step(actions[i])
                told[i] = one_rows, one_info
                assert rewards[i] == pytest.approx(reward)
                assert terminated[i] == is_over
        assert not truncated.any()
        ended = terminated.copy()
        num_ended += ended.sum()
    assert num_ended >= number


def test_seeds_of_many_may_be_written_in_several_ways() -> None:
    envs = make_many(3)
    want, _ = envs.reset(seed=5)
    for seed in (np.int64(5), [5, 6, 7], np.array([5, 6, 7])):
        np.testing.assert_array_equal(envs.reset(seed=seed)[0], want)


def test_many_may_be_cut_after_some_steps() -> None:
    envs = make_many(3, max_episode_steps=4)
    envs.reset(seed=0)
    defer = np.full(3, 3)
    cut = [envs.step(defer)[3].tolist() for _ in range(10)]
    # Four steps, then one that only starts anew.
    assert cut == [[number in (3, 8)] * 3 for number in range(10)]


def test_many_begin_again_without_compiling_or_encoding_anything() -> None:
    envs = make_many(3, traces=2, max_episode_steps=4)
    envs.reset(seed=0)
    source, encoded = envs.setup.source, []
    compiled = type(source).compiled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(source), "compiled", lambda self, seed: encoded.append(seed) or compiled(self, seed))
        for number in range(15):
            envs.step(np.full(3, number % 4))
            if number == 5:
                before = [program._cache_size() for program in programs_of(envs)]
        assert [program._cache_size() for program in programs_of(envs)] == before
        envs.reset()
    assert encoded == []


def test_resets_without_a_seed_draw_from_as_many_traces_as_are_asked_for() -> None:
    def first_times(traces: int) -> set[float]:
        env = make(workload="poisson", parameters={"pods": 5}, traces=traces)
        env.reset(seed=0)
        return {float(env.reset()[1]["time_seconds"]) for _ in range(12)}

    assert [len(first_times(traces)) for traces in (1, 3)] == [1, 3]


def test_an_episode_cut_short_earns_nothing_where_the_next_begins() -> None:
    envs = make_many(2, max_episode_steps=2)
    envs.reset(seed=0)
    told = [envs.step(np.zeros(2, np.int64)) for _ in range(3)]
    assert [step[1].tolist() == [0, 0] for step in told] == [False, False, True]
    assert told[2][-1]["node"].tolist() == [-1, -1]
    assert told[2][-1]["pod"].tolist() == [0, 0]


def test_nothing_is_compiled_again_for_another_seed() -> None:
    env, envs = make(), make_many(3)

    def programs_after(seed: int) -> list[int]:
        env.reset(seed=seed)
        env.step(np.int64(0))
        envs.reset(seed=seed)
        envs.step(np.zeros(3, np.int64))
        return [program._cache_size() for program in programs_of(env)]

    # Other tests of this process share the programs, and may have compiled them for other sizes: what counts is growth.
    first = programs_after(0)
    assert programs_of(env) is programs_of(envs)
    for seed in range(1, 4):
        assert programs_after(seed) == first


def test_observations_of_clusters_without_gpus_leave_gpus_in_detail_out() -> None:
    assert make().observation_space.shape == (3, len(default_names(has_gpus=False)))
    assert make(features=ALL).observation_space.shape == (3, len(ALL))


def test_observations_of_clusters_with_gpus_have_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_gpus(name: str, parameters: Any) -> Any:
        trace = build_workload(name, parameters).trace(0)
        nodes = tuple(replace(node, gpu_count=1) for node in trace.nodes)
        return SimpleNamespace(trace=lambda _seed: replace(trace, nodes=nodes))

    monkeypatch.setattr("longshore.simulator.gym.build_workload", with_gpus)
    env = PlacementEnv(**SMALL)
    assert env.observation_space.shape == (3, len(ALL))
    assert env.reset(seed=0)[0].shape == (3, len(ALL))


def test_spaces_follow_the_arguments() -> None:
    env = make(parameters=None, nodes=5, features=("latency", "is_feasible"))
    assert env.observation_space.shape == (5, 2)
    assert env.action_space == gymnasium.spaces.Discrete(6)
    envs = make_many(4, parameters=None, nodes=5, features=("latency", "is_feasible"))
    assert envs.single_observation_space == env.observation_space
    assert envs.observation_space.shape == (4, 5, 2)
    assert envs.action_space.shape == (4,)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workload": "tset1", "parameters": None}, "did you mean `test1`"),
        ({"parameters": {"pod": 3}}, "did you mean `pods`"),
        ({"objective": "el-lr"}, "did you mean `el-rl`"),
        ({"filters": "upstream+latencies"}, r"did you mean `upstream\+latency`"),
        ({"features": ("latencies",)}, "did you mean `latency`"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        PlacementEnv(**(SMALL | arguments))


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"got lag_seconds `-1\.0`, expected 0 or more"):
        PlacementEnv(lag_seconds=-1.0)
    with pytest.raises(InputError, match="got traces `0`, expected 1 or more"):
        PlacementEnv(traces=0)
    with pytest.raises(InputError, match="got 2 seeds, expected 3"):
        make_many(3).reset(seed=[1, 2])


def test_actions_out_of_range_are_refused_in_a_sentence() -> None:
    env = gymnasium.make("longshore/Placement-v0", workload="test1")
    env.reset(seed=0)
    with pytest.raises(InputError, match="expected a whole number below 4"):
        env.unwrapped.step(np.int64(99))
    many = gymnasium.make_vec("longshore/Placement-v0", num_envs=2, vectorization_mode="vector_entry_point")
    many.reset(seed=0)
    with pytest.raises(InputError, match="expected 2 whole numbers"):
        many.unwrapped.step(np.array([0, 1, 2]))
